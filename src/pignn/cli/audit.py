"""pignn audit"""

from __future__ import annotations

import shlex
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from ..core.errors import ConfigError, OutputError
from . import graph_options as which
from . import options as o
from . import run_dir as folder
from .option_groups import grouped
from .output import say, show_facts, show_json, show_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from ..auditing import Audit

SHOWN = 10


@grouped
def audit(
    *,
    files: which.LabelledFiles,
    method: Annotated[
        str, typer.Option(help="smoothed (quick), or a method of `pignn methods` to judge labels by.")
    ] = "smoothed",
    setting: o.Setting = None,
    folds: Annotated[int, typer.Option(min=2, help="Each label is judged by a model trained without its fold.")] = 5,
    review: Annotated[
        int | None, typer.Option(min=1, help="Also choose so many labels to look at, into review.csv.")
    ] = None,
    random_share: Annotated[float, typer.Option(help="Of --review: drawn at random, not from the top.")] = 0.5,
    decisions: Annotated[
        Path | None, typer.Option(help="Decisions of an earlier review: their labels are trusted.")
    ] = None,
    noise: o.Noise = "none",
    rate: o.Rate = None,
    seed: Annotated[int, typer.Option(help="Of folds, models, draws and noise.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.html and the tables.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the audit in --out.")] = False,
    named: which.Named,
    json: o.Json = False,
) -> int:
    """Find the labels that are probably wrong.

    suspects.csv lists every label, most probably wrong first; audit.html is a page on which to look at them and decide:
    a browser opens it from disk. Of a named dataset all labels are audited, made wrong as --noise and --rate say.

    Examples:

    \b
      pignn audit --nodes papers.csv --edges citations.csv --label topic --out audits/first
      pignn audit --nodes papers.csv --edges citations.csv --label topic --source annotator --out audits/by-source
      pignn audit --nodes papers.csv --edges citations.csv --label topic --review 100 --out audits/first
      pignn audit --dataset digits --noise symmetric --rate 0.2 --json
      pignn audit --dataset digits --noise symmetric --rate 0.2 --method pi-gnn --set epochs=100
    """
    from .. import auditing as audits
    from .. import graphs
    from .. import noise as noises
    from ..auditing.audit import DEFAULT_METHOD
    from ..methods import make

    settings = o.of_method(setting)
    if settings and method == DEFAULT_METHOD:
        raise ConfigError(
            f"--set is for a method of `pignn methods`; '{DEFAULT_METHOD}' has no settings: give --method too"
        )
    judge: Any = method
    if method != DEFAULT_METHOD:
        judge = make(method, seed=seed, **settings)
        judge.check_settings()
    kind = noises.load_noise(noise)
    own = files.options("audit", named)
    if own is not None and (kind != "none" or rate is not None):
        raise ConfigError("--noise and --rate make labels wrong to try an audit out; they are for --dataset")
    spoil = noises.Corrupt(kind, rate, seed=seed, splits=("all",))
    if review is not None and out is None:
        raise ConfigError("--review needs --out: the folder for review.csv")
    if out is not None and (out / "audit.json").exists() and not force:
        raise OutputError(f"{out} holds an audit already; --force replaces it, decisions in review.csv included")
    if out is not None:
        written = ("suspects.csv", "card.md", "audit.html", "audit.json", *(["review.csv"] if review else []))
        inputs = (files.nodes, files.edges, files.features, noise, decisions)
        folder.check_free((out / name for name in written), inputs, replace=force)
    decided = None if decisions is None else audits.read_decisions(decisions)

    with folder.made(out):
        if own is None:
            graph = which.load_graph(files.dataset, named.root, named.options(files.features))
            graph = spoil(graph)
        else:
            graph = which.read_graph(**own)
            if not json:
                print(f"{graphs.summarize_import(graph)}\n", flush=True)
        if decided is not None:
            graph = audits.mark_trusted(graph, decided)
        elif (nodes := files.nodes) and (beside := nodes.with_name(f"{nodes.stem}.trusted.csv")).exists():
            say(
                f"note: {beside.name} is beside it, so {nodes.name} was corrected by `pignn apply`: the noise is "
                "hidden in it; audit the original, with --decisions"
            )
        start = time.perf_counter()
        with warnings.catch_warnings():
            if json:
                warnings.simplefilter("ignore")  # they are in the notes
            found = audits.audit_labels(graph, judge, folds=folds, seed=seed, intervals=True)
        facts = found.to_dict() | {"seconds": round(time.perf_counter() - start, 2)}
        chosen = (
            None
            if review is None
            else audits.sample_for_review(found.issues, review, random_share=random_share, seed=seed)
        )
        if out is not None:
            _write(out, graph, found, chosen, facts, seed)
    if json:
        show_json(facts)
        return 0
    _show(graph, found)
    for note in found.notes[found.warned :]:
        say(f"note: {note}")
    if out is not None:
        say(f"suspects.csv, audit.json and card.md are in {out}; open {out / 'audit.html'} to look and decide")
        if chosen is not None:
            file = out / "review.csv"
            command = apply_command(graph, file, out)
            then = f": {command}" if command else f" audit again, with --decisions {file}"
            say(f"{len(chosen)} labels to look at are in {file}; fill in 'decision', then{then}")
    return 0


def apply_command(graph: Data, decisions: Path, out: Path) -> str:
    """The `pignn apply` for the file that was audited into `out`; empty where its labels cannot be corrected."""
    from ..auditing.label_files import SUFFIXES

    origin = graph.get("origin")
    nodes = Path("" if origin is None else origin.nodes)
    if origin is None or not origin.header or nodes.suffix.lower() not in SUFFIXES:
        return ""
    ids = ("--audit", out) if origin.id is None else ("--id", origin.id)  # no --id says that rows are numbered
    corrected = nodes.with_name(f"{nodes.stem}.corrected{nodes.suffix}")
    words = ("pignn", "apply", decisions, "--nodes", nodes, *ids, "--label", origin.label, "--out", corrected)
    return shlex.join(map(str, words))


def _write(out: Path, graph: Data, found: Audit, chosen: Any, facts: dict[str, Any], seed: int) -> None:
    """audit.json comes last and says that the rest is whole."""
    from ..auditing import tables
    from ..auditing.neighborhoods import describe_neighborhoods
    from ..io import files
    from ..methods.core.fingerprint import fingerprint
    from ..report.audit import build_audit_page
    from ..report.cards import build_audit_card

    origin = graph.get("origin")
    name = origin.nodes if origin is not None else graph.get("name")
    (out / "audit.json").unlink(missing_ok=True)
    tables.write_table(out / "suspects.csv", tables.replace_codes_by_names(found.issues, found.class_names))
    if chosen is not None:
        tables.write_table(out / "review.csv", tables.build_review_table(chosen, found.class_names))
    files.write_bytes(out / "card.md", build_audit_card(name, fingerprint(graph), found.overview).encode())
    title = f"Audit of the labels of {Path(origin.nodes).name if origin is not None else graph.get('name')}"
    near = partial(describe_neighborhoods, graph, labelled=found.nodes, seed=seed)
    apply = apply_command(graph, Path("decisions.csv"), out)
    page = build_audit_page(graph, found, chosen, _columns(origin), title=title, around=near, apply=apply)
    files.write_bytes(out / "audit.html", page.encode())
    about = {} if origin is None else {"origin": {"nodes": origin.nodes, "id": origin.id, "label": origin.label}}
    files.write_json(out / "audit.json", facts | about | {"pignn": __version__})


def _columns(origin: Any) -> Any:
    """What the user's file says of the nodes, for the page: node i is row i. None where it is not a table."""
    from ..graphs import tables

    if origin is None or tables.is_graph_file(origin.nodes):
        return None
    table, _ = tables.open_table(origin.nodes, origin.delimiter, of_nodes=True)
    frame = tables.read_dataframe(table)
    return frame.drop(columns=[c for c in (origin.id, origin.label, origin.trusted, origin.source) if c in frame])


def _show(graph: Data, found: Audit) -> None:
    facts = {
        "labels": len(found.nodes),
        "estimated wrong": found.overview.rate_text(),
        "by Dawid–Skene": found.overview.rate_dawid_skene_text(),
        "flagged": int(found.issues["flagged"].sum()),
        "suspects": int(found.issues["suspect"].sum()),
        "homophily": found.homophily,
    }
    show_facts(facts)
    print()
    show_table(found.classes, title="by given class")
    if found.sources:
        print()
        show_table(found.sources, title="by source")
    print()
    names = found.class_names
    rows = [
        {
            "node": str(row.get("id", row["node"])),
            "given": names[row["given"]],
            "suggested": names[row["suggested"]],
            "p_wrong": row["p_wrong"],
            "agreeing neighbors": f"{row['neighbor_agreement']:.0%} of {row['num_neighbors']}"
            if row["num_neighbors"]
            else "none",
        }
        for row in found.issues.head(SHOWN).to_dict("records")
    ]
    show_table(rows, title="most probably wrong")
