"""From a study to its runs, each with the key that says what it computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ..core.errors import ConfigError, PignnError, unknown
from .code_hash import canonical, digest, method_code, method_kind
from .execute import draws
from .results_store import ResultsStore
from .study import SEARCH, DatasetSpec, NoiseSpec, Study, StudyRow, is_named


class PlannedRun(NamedTuple):
    """One run of a study: its place in the table, its key in the store, and all that a worker needs."""

    dataset: DatasetSpec
    noise: NoiseSpec
    row: StudyRow
    seed: int
    key: str
    job: dict[str, Any]


def plan_runs(study: Study, store: ResultsStore, *, present: bool = False) -> list[PlannedRun]:
    """All runs of a study, seeds outermost: an interrupted study has all its cells, with fewer seeds.

    Everything that can be wrong is found here, before anything is computed. ``present`` leaves out, for a table, what
    could not be computed here: datasets whose files are not here and methods that are not installed.
    """
    if present:
        study = _present(study)
    else:
        _check_common(study)
    about_rows = {row.label: _resolved(study, row) for row in study.rows}
    rows_text = {label: canonical(about) for label, about in about_rows.items()}
    graphs = Fingerprints(store)
    protocol = study.protocol
    # Graphs differ by how many trusted labels a method cannot do without.
    needs = sorted({about["trusted"] for about in about_rows.values()})
    jobs: dict[int, dict[str, Any]] = {}
    texts: dict[int, str] = {}
    found = []
    for seed in study.seeds:
        for dataset in study.datasets:
            for noise in study.noises:
                about: dict[str, Any] = {
                    "dataset": dataset.name,
                    "options": dict(dataset.options),
                    "split": protocol.split,
                    "split_seed": protocol.split_seed(seed),
                    "noise": noise.kind,
                    "rate": noise.rate,
                    "noisy": list(protocol.noisy),
                    "seed": seed,
                }
                for trusted in needs:
                    jobs[trusted] = about | {"trusted": trusted}
                    jobs[trusted] |= graphs(jobs[trusted])
                    texts[trusted] = canonical(jobs[trusted])
                for row in study.rows:
                    trusted = about_rows[row.label]["trusted"]
                    key = digest(texts[trusted], rows_text[row.label])
                    found.append(PlannedRun(dataset, noise, row, seed, key, jobs[trusted] | about_rows[row.label]))
    graphs.save()
    return found


def _present(study: Study) -> Study:
    from ..graphs.datasets import is_available
    from ..methods.registry import list_methods

    methods = {info.name for info in list_methods()}
    rows = tuple(row for row in study.rows if row.method in methods)
    datasets = tuple(one for one in study.datasets if not is_named(one.name) or is_available(one.name))
    return replace(study, datasets=datasets or study.datasets, rows=rows or study.rows, reference="")


def _check_common(study: Study) -> None:
    """Settings for all methods that have them must be known to one at least."""
    known = {name for row in study.rows for name in method_kind(row.method)._get_param_names()}
    for name in study.settings:
        if name not in known:
            raise ConfigError(f"settings of all rows: {unknown('setting', name, known)}")


def _resolved(study: Study, row: StudyRow) -> dict[str, Any]:
    """What a row says about its runs: the method, its code, and all settings, defaults included.

    With the defaults spelt out, "warm-up 50" and "nothing said" are one run, and a changed default is another.
    """
    kind: Any = method_kind(row.method)
    known = set(kind._get_param_names())
    where = f"row '{row.label}'"
    for name in row.settings:
        if name not in known:
            raise ConfigError(f"{where}: {unknown('setting', name, known)}")
    for name in ("seed", "selection"):
        if name in row.settings or name in study.settings:
            owner = "the list of seeds" if name == "seed" else "the protocol"
            raise ConfigError(f"{where}: {name} is not a setting of a study; {owner} says it")
    given = {name: value for name, value in study.settings.items() if name in known} | row.settings
    if "selection" in known:
        given["selection"] = study.protocol.selection
    try:
        method = kind(**given)
        method.check_settings()
        settings = method._plain_settings()
    except (PignnError, TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from None
    settings.pop("seed", None)
    search: dict[str, list[Any]] = {}
    if study.protocol.trials:
        search = (
            {name: values for name, values in SEARCH.items() if name in known} if row.search is None else row.search
        )
        for name in search:
            if name not in known:
                raise ConfigError(f"{where}: {unknown('setting', name, known)}")
        for seed in study.seeds:
            for chosen in draws(search, study.protocol.trials, seed):
                try:
                    kind(**given | chosen).check_settings()
                except (PignnError, TypeError, ValueError) as error:
                    raise ConfigError(f"{where}, search: {error}") from None
    return {
        "method": row.method,
        "settings": settings,
        "code": method_code(row.method),
        "trusted": kind.trusted_per_class,
        "trials": study.protocol.trials,
        "search": search,
    }


class Fingerprints:
    """Fingerprints of graphs and of noisy labels, remembered in the store."""

    def __init__(self, store: ResultsStore) -> None:
        self._store = store
        self._known = store.fingerprints()
        self._new: dict[str, str] = {}
        self._graph_keys: dict[str, str | None] = {}

    def __call__(self, job: dict[str, Any]) -> dict[str, str]:
        from . import run_graphs as data

        place = canonical([job["dataset"], job["options"], job["split"], job["split_seed"]])
        if place not in self._graph_keys:
            self._graph_keys[place] = data.graph_key(job)
        graph = self._recall(self._graph_keys[place], lambda: data.graph(job)[1])
        labels = self._recall(data.labels_key(job, graph), lambda: data.labels_fingerprint(job))
        return {"data": graph, "labels": labels}

    def _recall(self, key: str | None, compute: Any) -> str:
        if key is None:
            return compute()
        if key not in self._known:
            self._known[key] = self._new[key] = compute()
        return self._known[key]

    def save(self) -> None:
        if self._new:
            self._store.keep_fingerprints(self._new)
