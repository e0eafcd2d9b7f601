"""From a study to its runs, each with the key that says what it computes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from ..core.errors import ConfigError, DataError, PignnError, build_unknown_name_error
from .code_hash import get_method_class, hash_code_of_method
from .results_store import ResultsStore
from .run_spec import GraphSpec, RunSpec, encode_canonical
from .study import DEFAULT_SEARCH, DatasetSpec, NoiseSpec, Study, StudyRow, is_named_dataset
from .tuning import list_trial_settings


class PlannedRun(NamedTuple):
    """One run of a study: its cell in the table, its key in the store, and its specification."""

    dataset: DatasetSpec
    noise: NoiseSpec
    row: StudyRow
    key: str
    spec: RunSpec

    @property
    def seed(self) -> int:
        return self.spec.graph.seed


def plan_runs(study: Study, store: ResultsStore, *, only_available: bool = False) -> list[PlannedRun]:
    """List all runs of a study, seeds outermost: an interrupted study has all its cells, with fewer seeds.

    Everything that can be wrong is found here, before anything is computed. ``only_available`` leaves out, for a
    table, what could not be computed here: datasets without their files and methods that are not installed.
    """
    if only_available:
        study = _drop_unavailable_methods_and_datasets(study, store)
    else:
        _check_shared_settings_known(study)
    templates = {row.label: build_run_spec_without_graph(study, row) for row in study.rows}
    # Graphs differ by the number of trusted labels that a method cannot do without.
    trusted_counts = sorted({template.graph.trusted for template in templates.values()})
    digests = GraphDigests(store)
    runs = []
    for seed in study.seeds:
        for dataset in study.datasets:
            for noise in study.noises:
                graphs = {
                    trusted: digests.copy_with_digests(_make_graph_spec(study, dataset, noise, seed, trusted))
                    for trusted in trusted_counts
                }
                for row in study.rows:
                    template = templates[row.label]
                    spec = msgspec.structs.replace(template, graph=graphs[template.graph.trusted])
                    runs.append(PlannedRun(dataset, noise, row, spec.key, spec))
    digests.save_new_digests()
    return runs


def _make_graph_spec(
    study: Study, dataset: DatasetSpec, noise: NoiseSpec, seed: int, trusted_per_class: int
) -> GraphSpec:
    rules = study.protocol
    return GraphSpec(
        dataset=dataset.name,
        options=dataset.options,
        split=rules.split,
        split_seed=rules.get_split_seed(seed),
        noise=noise.kind,
        rate=noise.rate,
        noisy=rules.noisy,
        draws=rules.draws,
        trusted=trusted_per_class,
        seed=seed,
    )


def _drop_unavailable_methods_and_datasets(study: Study, store: ResultsStore) -> Study:
    from ..methods.registry import list_methods

    methods = {info.name for info in list_methods()}
    rows = tuple(row for row in study.rows if row.work != "train" or row.method in methods)
    digests = GraphDigests(store)
    datasets = tuple(one for one in study.datasets if _can_be_loaded(study, one, digests))
    return replace(study, datasets=datasets or study.datasets, rows=rows or study.rows, reference="")


def _can_be_loaded(study: Study, dataset: DatasetSpec, digests: GraphDigests) -> bool:
    """Whether a named dataset's files are here and whole. Where they are remembered, they are not read for that."""
    from ..graphs.datasets import is_available

    if not is_named_dataset(dataset.name):
        return True
    if not is_available(dataset.name):
        return False
    try:
        digests.get_or_compute_graph_digest(_make_graph_spec(study, dataset, study.noises[0], study.seeds[0], 0))
    except DataError:  # such as a graph whose features are not here
        return False
    return True


def _check_shared_settings_known(study: Study) -> None:
    """Settings for all methods that have them must be known to one at least."""
    known = {name for row in study.rows for name in _get_setting_names(get_method_class(row.work, row.method))}
    for name in study.settings:
        if name not in known:
            raise ConfigError(f"settings of all rows: {build_unknown_name_error('setting', name, known)}")


def _get_setting_names(method_class: type[Any]) -> set[str]:
    return set(inspect.signature(method_class).parameters)


def build_run_spec_without_graph(study: Study, row: StudyRow) -> RunSpec:
    """What a row says about its runs: the method, its code, and all settings, defaults included.

    With the defaults spelled out, "warmup 50" and "no warmup given" are one run, and a changed default is another.
    """
    method_class: Any = get_method_class(row.work, row.method)
    known = _get_setting_names(method_class)
    title = f"row '{row.label}'"
    for name in (*row.settings, *(row.search or ())):
        if name not in known:
            raise ConfigError(f"{title}: {build_unknown_name_error('setting', name, known)}")
    for name, owner in (("seed", "the list of seeds"), ("selection", "the protocol")):
        if name in row.settings or name in study.settings:
            raise ConfigError(f"{title}: {name} is not a setting of a study; {owner} says it")
    given = {"preset": study.protocol.preset} if "preset" in known else {}
    given |= {name: value for name, value in study.settings.items() if name in known} | row.settings
    if "selection" in known:
        given["selection"] = study.protocol.selection
    trials = study.protocol.trials if row.work == "train" else 0
    work = "train-inductive" if study.protocol.inductive and row.work == "train" else row.work
    search: dict[str, list[Any]] = {}
    if trials:
        default = {name: values for name, values in DEFAULT_SEARCH.items() if name in known}
        search = default if row.search is None else row.search
    settings = _check_and_complete_settings(method_class, given, title)
    for seed in study.seeds:
        for chosen in list_trial_settings(search, trials, seed)[1:]:
            _check_and_complete_settings(method_class, given | chosen, f"{title}, search")
    return RunSpec(
        graph=GraphSpec(trusted=getattr(method_class, "trusted_per_class", 0)),
        work=work,
        method=row.method,
        settings={name: value for name, value in settings.items() if name != "seed"},
        code=hash_code_of_method(work, row.method),
        search=search,
        trials=trials,
        sampler=study.protocol.sampler,
    )


def _check_and_complete_settings(method_class: type[Any], settings: dict[str, Any], title: str) -> dict[str, Any]:
    """All settings of the method with their values as JSON can hold them, if they fit."""
    try:
        method = method_class(**settings)
        method.check_settings()
    except (PignnError, TypeError, ValueError) as error:
        raise ConfigError(f"{title}: {error}") from None
    values = {name: getattr(method, name) for name in _get_setting_names(method_class)}
    return msgspec.to_builtins(values, enc_hook=_encode_json_fallback, builtin_types=())


def _encode_json_fallback(value: Any) -> Any:
    if hasattr(value, "tolist"):  # arrays, tensors and scalars of NumPy
        return value.tolist()
    if callable(value):
        return {"callable": f"{value.__module__}:{getattr(value, '__qualname__', type(value).__name__)}"}
    return str(value)


class GraphDigests:
    """Digests of graphs and of noisy labels, remembered in the results store."""

    def __init__(self, store: ResultsStore) -> None:
        self._store = store
        self._known = store.read_cached_digests()
        self._new: dict[str, str] = {}
        self._graph_keys: dict[bytes, str | None] = {}

    def copy_with_digests(self, spec: GraphSpec) -> GraphSpec:
        """The specification with the digests of its graph and its labels."""
        from . import run_graphs

        graph = self.get_or_compute_graph_digest(spec)
        labels_key = run_graphs.compute_cache_key_of_labels_digest(spec, graph)
        labels = self._get_cached_or_compute(labels_key, lambda: run_graphs.compute_labels_digest(spec))
        return msgspec.structs.replace(spec, graph_digest=graph, labels_digest=labels)

    def get_or_compute_graph_digest(self, spec: GraphSpec) -> str:
        """The digest of the graph before noise."""
        from . import run_graphs

        clean = encode_canonical([spec.dataset, spec.options, spec.split, spec.split_seed])
        if clean not in self._graph_keys:
            self._graph_keys[clean] = run_graphs.compute_cache_key_of_graph_digest_or_none(spec)
        return self._get_cached_or_compute(
            self._graph_keys[clean], lambda: run_graphs.load_clean_graph_and_digest(spec)[1]
        )

    def _get_cached_or_compute(self, cache_key: str | None, compute_digest_of_parts: Callable[[], str]) -> str:
        if cache_key is None:
            return compute_digest_of_parts()
        if cache_key not in self._known:
            self._known[cache_key] = self._new[cache_key] = compute_digest_of_parts()
        return self._known[cache_key]

    def save_new_digests(self) -> None:
        if self._new:
            self._store.save_digests(self._new)
