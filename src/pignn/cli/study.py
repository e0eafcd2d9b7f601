"""pignn study"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ConfigError, DataError
from .option_groups import expand_groups
from .options import Json, parse_pairs
from .output import show_json, show_message, show_table

if TYPE_CHECKING:
    from ..report import Table
    from ..studies import Study, StudyResults

study = typer.Typer(
    name="study",
    help="Tables and figures from many runs: the paper's studies by name, or your own from a TOML file.",
    epilog="Start with: pignn study list · pignn study run low-noise --datasets cora --seeds 0-2 --workers 2",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="STUDY", help="A name of `pignn study list`, or a TOML file.")]
Out = Annotated[Path, typer.Option(help="Folder of the results; studies that share one share their runs.")]
Datasets = Annotated[str | None, typer.Option(help="Only these: cora,citeseer.")]
Noises = Annotated[str | None, typer.Option(help="Only these: none,symmetric:0.4; flip for all its rates.")]
Rates = Annotated[str | None, typer.Option(help="Only noises of these rates: 0.4,0.6.")]
Seeds = Annotated[str | None, typer.Option(help="0-9, or 0,1,5.")]
Methods = Annotated[str | None, typer.Option(help="Only these rows, by label or method; or other methods.")]
Protocol = Annotated[str | None, typer.Option(help="paper, honest or noisygl.")]
Trials = Annotated[int | None, typer.Option(help="Settings tried for each run, on given validation labels.")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of all methods that have it; may be repeated."),
]
Metric = Annotated[str | None, typer.Option(help="accuracy, macro_f1, balanced_accuracy, seconds, ...")]
Form = Annotated[str, typer.Option("--format", help="text, markdown, latex or html.")]
FOLDER = Path("runs/studies")


@dataclass(kw_only=True)
class StudyOptions:
    """Which study, how it is cut, and where its results are: the options of every command below."""

    name: Name
    out: Out = FOLDER
    datasets: Datasets = None
    noises: Noises = None
    rates: Rates = None
    seeds: Seeds = None
    methods: Methods = None
    protocol: Protocol = None
    trials: Trials = None
    setting: Setting = None

    def study(self, metric: str | None = None, *, as_run: bool = True) -> Study:
        """The study that was asked for. ``as_run``: where nothing cuts it, take it as it was last run in ``out``."""
        from ..studies.paper import get_study
        from ..studies.plan_files import read
        from ..studies.protocol import Protocol as Rules
        from ..studies.study import parse_seeds

        cuts = (self.datasets, self.noises, self.rates, self.seeds, self.methods, self.protocol, self.trials)
        kept = self.out / f"{self.name}.toml"
        if as_run and kept.is_file() and all(cut is None for cut in cuts) and not self.setting:
            found = read(kept)
        else:
            found = read(Path(self.name)) if self.name.endswith(".toml") else get_study(self.name)
        rules = None
        if self.protocol is not None or self.trials is not None:
            changes = {} if self.trials is None else {"trials": self.trials}
            name = found.protocol.name.removesuffix(" changed") if self.protocol is None else self.protocol
            rules = Rules.named(name, **changes)
        return found.subset(
            datasets=_list(self.datasets),
            noises=_list(self.noises),
            rates=_numbers(self.rates, "--rates"),
            seeds=None if self.seeds is None else parse_seeds(self.seeds),
            methods=_list(self.methods),
            settings=parse_pairs(self.setting, "--set", text_keys=("pair_labels",)),
            protocol=rules,
            metric=metric,
        )

    def results(self, metric: str | None = None) -> StudyResults:
        """What is there of it."""
        from ..studies import collect_results, open_results

        found = self.study(metric)
        with open_results(self.out, create=False) as store:
            return collect_results(found, store)


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str | None, flag: str) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{flag} takes numbers separated by commas, not '{text}'") from None


@study.command("list")
def list_(json: Json = False) -> int:
    """List the paper's studies.

    Examples:

    \b
      pignn study list
      pignn study list --json
    """
    from ..studies.paper import STUDIES

    rows = [
        {
            "study": found.name,
            "runs": len(found),
            "datasets": ", ".join(map(str, found.datasets)),
            "noises": len(found.noises),
            "rows": len(found.rows),
            "what": found.title,
        }
        for found in STUDIES.values()
    ]
    show_json(rows) if json else show_table(rows)
    return 0


@study.command()
@expand_groups
def run(
    options: StudyOptions,
    workers: Annotated[int, typer.Option(help="Processes at a time.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each.")] = 1,
    ray: Annotated[bool, typer.Option("--ray", help="Compute on a Ray cluster; --workers 0 for all its CPUs.")] = False,
    address: Annotated[
        str | None, typer.Option(help="Of the Ray cluster; RAY_ADDRESS or a new local one if absent.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try failed runs again.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Say what would be computed, and leave.")] = False,
    json: Json = False,
) -> int:
    """Compute the runs of a study that are not there yet.

    Every finished run is kept at once. After Ctrl-C, a crash or a power cut the same command goes on where it was;
    runs that another study in the same folder has computed are taken from there.

    Examples:

    \b
      pignn study run low-noise --datasets cora --seeds 0-2 --workers 2
      pignn study run baselines --noises symmetric:0.4,flip:0.6 --methods gce,pi-gnn --seeds 0-4 --out runs/mine
      pignn study run effectiveness --datasets pubmed --seeds 0-2 --protocol honest --set epochs=200
      pignn study run mine.toml --workers 2
    """
    from ..studies import open_results, run_study
    from ..studies.plan_files import write
    from ..studies.run_spec import plan_runs
    from ..studies.sweep import check_processes, reusable_rows

    found, out = options.study(as_run=False), options.out
    if address is not None and not ray:
        raise ConfigError("--address is that of a Ray cluster; give --ray too")
    if dry:
        with open_results(out) as store:
            planned = plan_runs(found, store)
            rows = reusable_rows(store, planned, retry)
        keys = {each.key for each in planned}
        there, failed = len(rows), sum(row["status"] == "failed" for row in rows.values())
        facts = {"study": found.name, "planned": len(keys), "there": there, "to compute": len(keys) - there}
        facts["failed"] = failed
        told = f", {failed} of them failed: --retry computes these again" if failed else ""
        show_json(facts) if json else show_message(f"{found.name}: {len(keys)} runs planned, {there} are there{told}")
        return 0
    cluster = (address or "auto") if ray else None
    check_processes(workers, threads, cluster)
    with open_results(out):
        write(found, out / f"{found.name}.toml")
    summary = run_study(found, out, workers=workers, threads=threads, ray=cluster, retry=retry)
    facts = {"study": found.name, **vars(summary)}
    if json:
        show_json(facts)
    else:
        failed = f", {summary.failed} failed (pignn study status {options.name} --out {out})" if summary.failed else ""
        show_message(
            f"{found.name}: {summary.planned} runs, {summary.cached} were there, {summary.computed} computed{failed}; "
            f"results in {out}"
        )
    return 1 if summary.failed else 0


@study.command()
@expand_groups
def status(options: StudyOptions, json: Json = False) -> int:
    """Say how far a study is, and which of its runs failed and why.

    Examples:

    \b
      pignn study status low-noise
      pignn study status low-noise --datasets cora --json
    """
    results = options.results()
    failed = [
        {
            "dataset": str(planned.dataset),
            "noise": str(planned.noise),
            "row": planned.row.label,
            "seed": planned.seed,
            "error": error,
        }
        for planned, error in results.failed
    ]
    name, planned = results.study.name, len(results.runs)
    missing = planned - results.done - len(failed)
    if json:
        show_json({"study": name, "planned": planned, "done": results.done, "missing": missing, "failed": failed})
        return 0
    print(f"{name}: {planned} runs planned, {results.done} done, {len(failed)} failed, {missing} to do")
    show_table(failed)
    return 0


@study.command()
@expand_groups
def table(
    options: StudyOptions,
    form: Form = "text",
    metric: Metric = None,
) -> int:
    """Print the tables of a study: mean(std) over seeds, the best of a column marked.

    Without options that cut it, a study is taken as it was last run in --out.

    Examples:

    \b
      pignn study table low-noise
      pignn study table low-noise --format latex --metric macro_f1
    """
    from ..studies import build_tables

    print(_joined(build_tables(options.results(metric)), form))
    return 0


@study.command()
@expand_groups
def compare(
    options: StudyOptions,
    form: Form = "text",
    json: Json = False,
) -> int:
    """Set our numbers beside the paper's, cell by cell, with the difference in standard errors.

    Examples:

    \b
      pignn study compare low-noise
      pignn study compare low-noise --datasets cora --format markdown
    """
    from ..studies import comparison

    results = options.results()
    cells = comparison.compare_with_paper(results)
    if not cells:
        raise DataError(f"the paper has no number for what is there of '{options.name}': nothing to compare with")
    if json:
        show_json([cell._asdict() | {"far": cell.far} for cell in cells])
    else:
        print(_joined([comparison.table(results)], form))
    return 0


@study.command("test")
@expand_groups
def significance(
    options: StudyOptions,
    against: Annotated[str, typer.Option(help="The row that is tested against all others; the last if absent.")] = "",
    form: Form = "text",
    metric: Metric = None,
    json: Json = False,
) -> int:
    """Test whether a row is better than the others: paired t-test and Wilcoxon over seeds, Holm, effect sizes.

    Examples:

    \b
      pignn study test low-noise
      pignn study test low-noise --against PI-GNN --metric macro_f1
    """
    from ..core.errors import unknown
    from ..studies import significance as tests

    results = options.results(metric)
    if against and against not in results.labels:
        raise unknown("row", against, results.labels)
    if json:
        show_json([tested._asdict() for tested in tests.compare_rows(results, against)])
    else:
        print(_joined([tests.table(results, against)], form))
    return 0


@study.command()
@expand_groups
def figure(
    options: StudyOptions,
    file: Annotated[Path, typer.Argument(help="The picture to write: .png or .svg.")],
    metric: Metric = None,
) -> int:
    """Draw a study: curves over rates or settings, bars otherwise, the paper's values beside ours.

    Examples:

    \b
      pignn study figure low-noise low-noise.png
      pignn study figure warmup warmup.svg --datasets cora
    """
    from ..io import files
    from ..studies.figure import figure as draw

    files.write_bytes(file, draw(options.results(metric), file.suffix.lower().lstrip(".") or "png"))
    show_message(f"written to {file}")
    return 0


@study.command()
@expand_groups
def export(
    options: StudyOptions,
    file: Annotated[
        Path, typer.Argument(help="Runs: .csv, .parquet; a whole page: .html, .md; tables: .tex; plan: .toml.")
    ],
    metric: Metric = None,
) -> int:
    """Write the runs of a study for other programs, a self-contained page, its tables, or its plan.

    Examples:

    \b
      pignn study export low-noise runs.csv
      pignn study export low-noise low-noise.html
      pignn study export low-noise plan.toml --datasets cora
    """
    from ..io import files
    from ..studies.export import content
    from ..studies.plan_files import write

    if file.suffix.lower() == ".toml":
        write(options.study(metric), file)
    else:
        files.write_bytes(file, content(options.results(metric), file))
    show_message(f"written to {file}")
    return 0


def _joined(found: list[Table], form: str) -> str:
    forms: dict[str, Any] = {
        "text": lambda table: table.to_text() + "\n",
        "markdown": lambda table: table.to_markdown(),
        "latex": lambda table: table.to_latex(),
        "html": lambda table: table.to_html(),
    }
    if form not in forms:
        from ..core.errors import unknown

        raise unknown("format", form, forms)
    return "\n".join(forms[form](one) for one in found).rstrip("\n")
