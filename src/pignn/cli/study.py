"""pignn study"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from ..core.errors import ConfigError, DataError, build_unknown_name_error
from .option_groups import expand_option_groups
from .options import Json, parse_key_value_pairs, split_at_commas
from .output import show_json, show_message_on_stderr, show_table

if TYPE_CHECKING:
    from ..report import Table
    from ..studies import Protocol, Study, StudyResults

study = Typer(
    name="study",
    help="Make tables and figures from many runs: built-in studies by name, or your own from a TOML file.",
    epilog="Start with: pignn study list · pignn study run low-noise --datasets cora --seeds 0-2 --workers 2",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)

RESULTS_FOLDER = Path("runs/studies")
Metric = Annotated[str | None, Option(help="accuracy, macro_f1, calibration_error, seconds, ...")]
Form = Annotated[str, Option("--format", help="text, markdown, latex or html.")]


@dataclass(kw_only=True)
class GraphSelection:
    """Which study, which of its graphs, and where its results are."""

    name: Annotated[str, Argument(metavar="STUDY", help="A name from `pignn study list`, or a TOML file.")]
    out: Annotated[Path, Option(help="Results folder. Studies that share one share their runs.")] = RESULTS_FOLDER
    datasets: Annotated[str | None, Option(help="Use only these datasets: cora,citeseer.")] = None
    noises: Annotated[
        str | None, Option(help="Use only these noises: none,symmetric:0.4. flip means all its rates.")
    ] = None
    rates: Annotated[str | None, Option(help="Use only noises of these rates: 0.4,0.6.")] = None
    seeds: Annotated[str | None, Option(help="Seeds: 0-9, or 0,1,5.")] = None
    protocol: Annotated[
        str | None, Option(help="Protocol: paper, released, honest, inductive, noisygl, begin, ...")
    ] = None


@dataclass(kw_only=True)
class StudyOptions(GraphSelection):
    """The options of every command below."""

    methods: Annotated[
        str | None, Option(help="Use only these rows, by label or method. Other methods become rows.")
    ] = None
    trials: Annotated[int | None, Option(help="Number of settings to try per run, on given validation labels.")] = None
    setting: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="A setting for all methods that have it. Repeatable."),
    ] = None

    def load_study(self, metric: str | None = None, *, as_run: bool = True) -> Study:
        """The study with its options. ``as_run`` takes an unchanged one as it was last run in ``out``."""
        from ..studies import get_study, read_study
        from ..studies.study import parse_seed_ranges_or_count

        changes = (self.datasets, self.noises, self.rates, self.seeds, self.methods, self.protocol, self.trials)
        last_run = self.out / f"{self.name}.toml"
        if as_run and last_run.is_file() and all(change is None for change in changes) and not self.setting:
            loaded = read_study(last_run)
        else:
            loaded = read_study(self.name) if self.name.endswith(".toml") else get_study(self.name)
        return loaded.subset(
            datasets=split_at_commas(self.datasets),
            noises=split_at_commas(self.noises),
            rates=_parse_comma_separated_floats(self.rates, "--rates"),
            seeds=None if self.seeds is None else parse_seed_ranges_or_count(self.seeds),
            methods=split_at_commas(self.methods),
            settings=parse_key_value_pairs(self.setting, "--set", text_keys=("pair_labels",)),
            protocol=self._build_protocol_if_changed(loaded),
            metric=metric,
        )

    def _build_protocol_if_changed(self, loaded: Study) -> Protocol | None:
        from ..studies import Protocol

        if self.protocol is None and self.trials is None:
            return None
        changes = {} if self.trials is None else {"trials": self.trials}
        return Protocol.from_preset(self.protocol or loaded.protocol.base_preset_name, **changes)

    def load_results(self, metric: str | None = None) -> StudyResults:
        """What is there of the study."""
        from ..studies import collect_results, open_results

        loaded = self.load_study(metric)
        with open_results(self.out, create=False) as store:
            return collect_results(loaded, store)


def _parse_comma_separated_floats(text: str | None, flag: str) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{flag} takes numbers separated by commas, not '{text}'") from None


@study.command("list")
def list_studies(json: Json = False) -> None:
    """List the built-in studies: those of the paper, and our benchmarks.

    Examples:

    \b
      pignn study list
      pignn study list --json
    """
    from ..studies import load_builtin_studies

    rows = [
        {
            "study": name,
            "runs": len(one),
            "datasets": ", ".join(map(str, one.datasets)),
            "noises": len(one.noises),
            "rows": len(one.rows),
            "title": one.title,
        }
        for name, one in load_builtin_studies().items()
    ]
    show_json(rows) if json else show_table(rows)


@study.command()
@expand_option_groups
def run(
    options: StudyOptions,
    workers: Annotated[int, Option(help="Number of processes.")] = 1,
    threads: Annotated[int, Option(min=1, help="Threads per process.")] = 1,
    ray: Annotated[bool, Option("--ray", help="Compute on a Ray cluster. --workers 0 uses all CPUs.")] = False,
    address: Annotated[
        str | None, Option(help="Address of the Ray cluster (default: RAY_ADDRESS, else a new local one).")
    ] = None,
    retry: Annotated[bool, Option("--retry", help="Try failed runs again.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only print what would be computed.")] = False,
    json: Json = False,
) -> int:
    """Compute the runs of a study that are not there yet.

    Every finished run is kept at once. After Ctrl-C, a crash or a power cut the same command goes on where it was.
    Runs that another study in the same folder has computed are reused.

    Examples:

    \b
      pignn study run low-noise --datasets cora --seeds 0-2 --workers 2
      pignn study run baselines --noises symmetric:0.4,flip:0.6 --methods gce,pi-gnn --seeds 0-4 --out runs/mine
      pignn study run effectiveness --datasets pubmed --seeds 0-2 --protocol honest --set epochs=200
      pignn study run mine.toml --workers 2
    """
    from ..studies import open_results, run_study, write_study
    from ..studies.sweep import check_worker_and_thread_counts

    loaded, out = options.load_study(as_run=False), options.out
    if address is not None and not ray:
        raise ConfigError("--address is that of a Ray cluster; give --ray too")
    if dry_run:
        _show_plan_counts(loaded, out, retry, json)
        return 0
    cluster = (address or "auto") if ray else None
    check_worker_and_thread_counts(workers, threads, cluster)
    with open_results(out):
        write_study(loaded, out / f"{loaded.name}.toml")
    summary = run_study(loaded, out, workers=workers, threads=threads, ray=cluster, retry=retry)
    if json:
        show_json({"study": loaded.name, **vars(summary)})
    else:
        failed = f", {summary.failed} failed (pignn study status {options.name} --out {out})" if summary.failed else ""
        counts = f"{summary.planned} runs, {summary.cached} were there, {summary.computed} computed"
        show_message_on_stderr(f"{loaded.name}: {counts}{failed}; results in {out}")
    return 1 if summary.failed else 0


def _show_plan_counts(loaded: Study, out: Path, retry: bool, json: bool) -> None:
    from ..studies import open_results, plan_runs
    from ..studies.sweep import find_reusable_records

    with open_results(out) as store:
        runs = plan_runs(loaded, store)
        records = find_reusable_records(store, runs, loaded.metric, retry)
    planned, there = len({run.key for run in runs}), len(records)
    failed = sum(not record.is_done for record in records.values())
    if json:
        facts = {"planned": planned, "there": there, "to compute": planned - there, "failed": failed}
        show_json({"study": loaded.name} | facts)
    else:
        note = f", {failed} of them failed: --retry computes these again" if failed else ""
        show_message_on_stderr(f"{loaded.name}: {planned} runs planned, {there} are there{note}")


@study.command()
@expand_option_groups
def status(options: StudyOptions, json: Json = False) -> None:
    """Show how far a study is, and which of its runs failed and why.

    Examples:

    \b
      pignn study status low-noise
      pignn study status low-noise --datasets cora --json
    """
    results = options.load_results()
    failed = [
        {"dataset": str(run.dataset), "noise": str(run.noise), "row": run.row.label, "seed": run.seed, "error": error}
        for run, error in results.failed_runs
    ]
    name, planned, done = results.study.name, len(results.runs), results.num_done
    missing = planned - done - len(failed)
    if json:
        show_json({"study": name, "planned": planned, "done": done, "missing": missing, "failed": failed})
    else:
        print(f"{name}: {planned} runs planned, {done} done, {len(failed)} failed, {missing} to do")
        show_table(failed)


@study.command()
@expand_option_groups
def table(options: StudyOptions, form: Form = "text", metric: Metric = None) -> None:
    """Print the tables of a study: mean(std) over seeds, the best of a column marked.

    Without options that change it, a study is shown as it was last run in --out.

    Examples:

    \b
      pignn study table low-noise
      pignn study table low-noise --format latex --metric macro_f1
    """
    from ..studies import build_tables

    print(_format_tables(build_tables(options.load_results(metric)), form))


@study.command()
@expand_option_groups
def compare(
    options: StudyOptions,
    published: Annotated[
        str, Option(help="Compare all rows with this row of the paper, such as PI-GNN, and sum up their gains.")
    ] = "",
    form: Form = "text",
    json: Json = False,
) -> None:
    """Compare our numbers with the paper's, cell by cell, with the difference in standard errors.

    Examples:

    \b
      pignn study compare low-noise
      pignn study compare low-noise --datasets cora --format markdown
      pignn study compare beyond --published PI-GNN
    """
    from ..studies import comparison

    results = options.load_results()
    cells = comparison.compare_with_paper(results, published)
    if not cells:
        raise DataError(f"the paper has no number for what is there of '{options.name}': nothing to compare with")
    if json:
        show_json([cell._asdict() | {"differs_from_published": cell.differs_from_published} for cell in cells])
    else:
        tables = [comparison.build_paper_comparison_table(results, published)]
        tables += [comparison.build_mean_gains_over_published_table(results, published)] if published else []
        print(_format_tables(tables, form))


@study.command("test")
@expand_option_groups
def significance(
    options: StudyOptions,
    against: Annotated[str, Option(help="Row to test against all others (default: the last).")] = "",
    form: Form = "text",
    metric: Metric = None,
    json: Json = False,
) -> None:
    """Test whether a row is better than the others: paired t-test and Wilcoxon over seeds, Holm, effect sizes.

    Examples:

    \b
      pignn study test low-noise
      pignn study test low-noise --against PI-GNN --metric macro_f1
    """
    from ..studies.significance import build_significance_table, compare_rows_with_reference

    results = options.load_results(metric)
    if against and against not in results.row_labels:
        raise build_unknown_name_error("row", against, results.row_labels)
    if json:
        show_json([test._asdict() for test in compare_rows_with_reference(results, against)])
    else:
        print(_format_tables([build_significance_table(results, against)], form))


@study.command()
@expand_option_groups
def rank(
    options: StudyOptions,
    pair_test: Annotated[
        str, Option("--test", help="Which pairs differ: by Nemenyi's test, or by wilcoxon with Holm's correction.")
    ] = "nemenyi",
    form: Form = "text",
    metric: Metric = None,
    json: Json = False,
) -> None:
    """Rank the rows of a study over all its cells: mean ranks, Friedman's test, what each row costs.

    `pignn study export NAME page.html` draws the same: a critical-difference diagram, and accuracy against cost.

    Examples:

    \b
      pignn study rank leaderboard
      pignn study rank leaderboard --datasets cora --test wilcoxon --metric macro_f1
    """
    from ..studies.leaderboard import build_leaderboard_rows, build_leaderboard_table
    from ..studies.ranking import rank_rows

    results = options.load_results(metric)
    ranking = rank_rows(results, pair_test)
    if json:
        rows = [row._asdict() for row in build_leaderboard_rows(results, ranking)]
        show_json(ranking._asdict() | {"rows": rows})
    else:
        print(_format_tables([build_leaderboard_table(results, ranking)], form))


@study.command()
@expand_option_groups
def figure(
    options: StudyOptions,
    file: Annotated[Path, Argument(help="Picture to write: .png or .svg.")],
    metric: Metric = None,
) -> None:
    """Draw a study: curves over rates or settings, bars otherwise, the paper's values beside ours.

    Examples:

    \b
      pignn study figure low-noise low-noise.png
      pignn study figure warmup warmup.svg --datasets cora
    """
    from ..io import files
    from ..studies import draw_study

    files.write_bytes_atomically(
        file, draw_study(options.load_results(metric), file.suffix.lower().lstrip(".") or "png")
    )
    show_message_on_stderr(f"written to {file}")


@study.command()
@expand_option_groups
def export(
    options: StudyOptions,
    file: Annotated[
        Path, Argument(help="Runs: .csv, .parquet. A whole page: .html, .md. Tables: .tex. The plan: .toml.")
    ],
    metric: Metric = None,
) -> None:
    """Write the runs of a study for other programs, a self-contained page, its tables, or its plan.

    Examples:

    \b
      pignn study export low-noise runs.csv
      pignn study export low-noise low-noise.html
      pignn study export low-noise plan.toml --datasets cora
    """
    from ..io import files
    from ..studies import write_study
    from ..studies.export import encode_results_by_suffix

    if file.suffix.lower() == ".toml":
        write_study(options.load_study(metric), file)
    else:
        files.write_bytes_atomically(file, encode_results_by_suffix(options.load_results(metric), file))
    show_message_on_stderr(f"written to {file}")


def _format_tables(tables: list[Table], form: str) -> str:
    if form not in ("text", "markdown", "latex", "html"):
        raise build_unknown_name_error("format", form, ("text", "markdown", "latex", "html"))
    texts = [getattr(table, f"to_{form}")() for table in tables]
    return ("\n\n" if form == "text" else "\n").join(texts).rstrip("\n")
