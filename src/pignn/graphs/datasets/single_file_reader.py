"""Graphs that are one file, at hand or downloaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
import torch_geometric.data
from scipy.sparse import csr_matrix
from torch_geometric.data import Data

from ...core.text import format_error_in_one_line
from ...io.safe_readers import build_damaged_file_error, read_npz
from ..edges import simplify_edges
from .base import FileDataset, Root
from .raw_checks import check_sparse_npz_is_intact
from .raw_source import DownloadError, extract_checked_graph, raw_folder_or_download_context

MASKS = ("train_masks", "val_masks", "test_masks")
_GML_RECORD = re.compile(r"\b(node|edge)\s*\[((?:[^\]\"]|\"[^\"]*\")*)\]")
_GML_FIELD = re.compile(r"(\w+)\s+(?:\"([^\"]*)\"|(\S+))")


def read_single_file(dataset: FileDataset, root: Root, *, url: str, layout: str, variant: str = "full") -> Data:
    """A graph in one file of one of the `LAYOUTS`; `url` is the folder on the web, or a zip archive that has the file.

    Some come whole and without duplicate nodes (`variant="filtered"`).
    """
    raw = dataset.get_raw_files({"variant": variant})
    (file,) = raw.files

    def download(folder: Path) -> Path:
        is_archive = url.endswith(".zip")
        try:
            path = torch_geometric.data.download_url(url if is_archive else f"{url}/{file}", str(folder))
            if is_archive:
                torch_geometric.data.extract_zip(path, str(folder))
            LAYOUTS[layout](folder / file, f"the downloaded {file}")
        except Exception as error:
            raise DownloadError(format_error_in_one_line(error)) from None
        return folder

    with raw_folder_or_download_context(dataset.name, raw, root, download) as folder:
        found = LAYOUTS[layout](folder / file, str(folder / file))
        data = extract_checked_graph(dataset, found, folder)
        for name in ("node_id", "label_source", "source_names"):
            if name in found:
                data[name] = found[name]
        return data


def read_platonov_npz(path: Path, title: str) -> Data:
    """The layout of Platonov et al., "A critical look at the evaluation of GNNs under heterophily", with ten splits."""
    arrays = read_npz(path, "node_features", "node_labels", "edges", *MASKS, title=title)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    edges = tensors["edges"].long().t()
    return Data(
        x=tensors["node_features"],
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),  # the file has every undirected edge once
        y=tensors["node_labels"],
        **{name[:-1]: tensors[name].bool().t().contiguous() for name in MASKS},
    )


def read_sparse_npz(path: Path, title: str) -> Data:
    """Adjacency and features as sparse matrices. PyG's loaders replace counts by ones; here they stay."""
    check_sparse_npz_is_intact(path, title)
    arrays = read_npz(path, title=title)
    adjacency, features = (
        csr_matrix(tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")), arrays[f"{name}_shape"])
        for name in ("adj", "attr")
    )
    edges = torch.from_numpy(np.stack(adjacency.nonzero()).astype(np.int64))
    return Data(
        x=torch.from_numpy(features.toarray()),
        edge_index=simplify_edges(edges, adjacency.shape[0]).edge_index,
        y=torch.from_numpy(arrays["labels"]),
    )


def read_polblogs_gml(path: Path, title: str) -> Data:
    """A directed graph whose nodes have a label (name), a value (class) and a source (who gave the class).

    There are no features: each node gets one of its own (one-hot), so that smoothed features are random walks.
    """
    try:
        records = list(_iter_gml_kinds_and_fields(path.read_text(encoding="utf-8", errors="replace")))
        nodes = [fields for kind, fields in records if kind == "node"]
        number = {fields["id"]: node for node, fields in enumerate(nodes)}
        edges = [[number[fields["source"]], number[fields["target"]]] for kind, fields in records if kind == "edge"]
        y = torch.tensor([int(fields["value"]) for fields in nodes], dtype=torch.long)
        names = [fields["label"] for fields in nodes]
        source_names, source = np.unique([fields["source"] for fields in nodes], return_inverse=True)
    except (OSError, KeyError, ValueError) as error:
        raise build_damaged_file_error(title, error) from None
    return Data(
        x=torch.eye(len(y)),
        edge_index=torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t(),
        y=y,
        node_id=names,
        label_source=torch.from_numpy(source).long(),
        source_names=source_names.tolist(),
    )


def _iter_gml_kinds_and_fields(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Nodes and edges with their fields. NetworkX refuses the published polblogs: some of its edges are there twice."""
    for kind, body in _GML_RECORD.findall(text):
        yield kind, {name: quoted or plain for name, quoted, plain in _GML_FIELD.findall(body)}


LAYOUTS: dict[str, Callable[[Path, str], Data]] = {
    "platonov": read_platonov_npz,
    "sparse": read_sparse_npz,
    "gml": read_polblogs_gml,
}
