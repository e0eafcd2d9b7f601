"""Options for the graph of a command: a named dataset, or the user's own from files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ..core.errors import ConfigError
from ..graphs.tables import has_graph_suffix
from .options import Root, parse_json_or_text, parse_key_value_pairs

COLUMNS = (
    "label",
    "id",
    "name",
    "text_model",
    "trusted",
    "source",
    "votes",
    "delimiter",
    "edges",
    "edge_columns",
    "edge_types",
    "drop_unknown",
    "truth",
)
TABLES = "CSV, TSV, JSON lines or Parquet"


@dataclass(kw_only=True)
class GraphOptions:
    """The graph of a command."""

    dataset: Annotated[
        str | None, Option(help="Named dataset (see `pignn datasets`), or a graph store (see `pignn convert`).")
    ] = None
    nodes: Annotated[
        Path | None,
        Option(help=f"Your own graph: {TABLES}, one node per row (- reads a pipe); or .npz, .pt, .graphml, .gml."),
    ] = None
    edges: Annotated[Path | None, Option(help=f"Its edges, one per row: {TABLES}, or .npy.")] = None
    label: Annotated[
        str | None,
        Option(help="Column of --nodes with the labels; empty or -1 for none. 'a,b': those of several annotators."),
    ] = None
    id: Annotated[str | None, Option(help="Column of --nodes with the ids that --edges uses (default: id).")] = None
    name: Annotated[str | None, Option(help="Column of --nodes with names to show beside the ids.")] = None
    features: Annotated[
        str | None,
        Option(
            help="Feature columns of --nodes ('age,x*,note:text'; default: all others), 'structure', or a file. "
            "With --dataset, 'stand-in' makes features up (ogbn-arxiv)."
        ),
    ] = None
    text_model: Annotated[
        Path | None, Option(help="Folder of a sentence-transformers model: texts become its embeddings, not TF-IDF.")
    ] = None
    edge_columns: Annotated[
        str | None,
        Option(metavar="FROM,TO[,WEIGHT]", help="Columns of --edges (default: found by name or order)."),
    ] = None
    edge_types: Annotated[
        str | None,
        Option(
            metavar="COLUMN[:TYPE=WEIGHT,...]",
            help="Column of --edges with their types, and what each weighs; types that are not named are left out.",
        ),
    ] = None
    delimiter: Annotated[str | None, Option(help="Delimiter of --nodes and --edges: one character, tab or space.")] = (
        None
    )
    drop_unknown: Annotated[
        bool, Option("--drop-unknown", help="Leave out edges to nodes that are not in --nodes.")
    ] = False
    root: Root = None
    split: Annotated[str, Option(help="Split of --dataset: default, own or random.")] = "default"
    split_seed: Annotated[int, Option(help="Random seed of the split; independent of --seed.")] = 0
    split_index: Annotated[int | None, Option(help="Which split to use, if the graph comes with several.")] = None
    data: Annotated[
        list[str] | None,
        Option("--data", metavar="KEY=VALUE", help="Option of the dataset; may be repeated."),
    ] = None

    def to_arguments(self, command: str, val: float = 0.0) -> dict[str, Any]:
        """The graph as the functions of :mod:`pignn.runs` take it."""
        columns = {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        if self.nodes is None:
            if unused := [name for name, value in {**columns, "val": val}.items() if value]:
                flag = unused[0].replace("_", "-")
                raise ConfigError(f"--{flag} is about a graph of your own: give its nodes with --nodes FILE")
            if self.dataset is None:
                raise ConfigError(
                    "which graph? your own with --nodes and --edges, or a named one with '--dataset' "
                    f"(see pignn {command} --help)"
                )
            return {"graph": self.dataset, "root": self.root, **self._build_dataset_arguments()}
        if self.dataset is not None:
            raise ConfigError("--dataset is a named graph, --nodes is your own; give one of them")
        for name, is_set in {"split": self.split != "default", "data": self.data}.items():
            if is_set:
                raise ConfigError(f"--{name} is for named datasets; of --nodes, --val holds labels out")
        own = {"nodes": self.nodes, "features": self.features, "split_seed": self.split_seed, "val": val}
        return {**own, "split_index": self.split_index, **columns}

    def _build_dataset_arguments(self) -> dict[str, Any]:
        flags = {
            "split": self.split,
            "split_seed": self.split_seed,
            "split_index": self.split_index,
            "features": None if self.features is None else parse_json_or_text(self.features),
        }
        options = parse_key_value_pairs(self.data, "--data")
        for name in ("name", "root", *flags):
            if name in options and name != "features":
                flag = "dataset" if name == "name" else name.replace("_", "-")
                raise ConfigError(f"--data {name}=... is not an option of a dataset; use --{flag}")
        if self.features is not None and "features" in options:
            raise ConfigError("features are given twice: by --features and by --data")
        return {**flags, "dataset_options": options}


@dataclass(kw_only=True)
class LabeledGraphOptions(GraphOptions):
    """The graph of a command that learns from labels."""

    trusted: Annotated[str | None, Option(help="Column of --nodes: 1 where the label was verified.")] = None
    source: Annotated[str | None, Option(help="Column of --nodes: who or what gave the label.")] = None
    truth: Annotated[
        str | None, Option(help="Column of --nodes with true labels, where known: for scores only, never learned from.")
    ] = None
    votes: Annotated[
        Path | None,
        Option(help=f"Labels of several annotators: {TABLES}, with columns node, annotator, label (and confidence)."),
    ] = None

    def to_arguments(self, command: str, val: float = 0.0) -> dict[str, Any]:
        arguments = super().to_arguments(command, val)
        if self.nodes is not None and self.label is None and self.votes is None and not has_graph_suffix(self.nodes):
            raise ConfigError("which column of --nodes has the labels? say so with --label, or give --votes")
        return arguments
