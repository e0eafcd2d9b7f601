"""Files that hold a whole graph: .npz, PyG's .pt, .graphml and .gml. Nothing in them is run."""

from __future__ import annotations

import contextlib
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...core.errors import DataError
from ...core.text import one_line_text, pluralize
from ..tables.formats import FORMATS, find_format
from .graph_files import GraphFile, from_arrays, from_graph

_SAVE = "a graph is saved with torch.save(data, ...) or as a dictionary of tensors"
# Classes that a .pt file may ask for and that stand for something people do save.
_REASONS = {
    "HeteroData": "heterogeneous graphs are not supported; save one kind of nodes, with data.to_homogeneous()",
    "SparseTensor": "the adjacency is a SparseTensor of torch_sparse, which is not read; save edge_index instead",
}
MOST_UNPACKED = 4 << 30  # bytes; more than that, from a file 200 times smaller, is a trap


def read_graph_file(path: Path) -> GraphFile:
    """The graph in a file."""
    if not path.is_file():
        raise DataError(f"cannot read {path}: " + ("it is a folder" if path.is_dir() else "no such file"))
    if not path.stat().st_size:
        raise DataError(f"{path} is empty")
    name = find_format(path)
    assert name is not None
    content = FORMATS.get(name).load_reader()(path)
    return from_arrays(content, str(path)) if isinstance(content, dict) else from_graph(content, str(path))


def read_npz(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as file:
            unpacked = sum(entry.file_size for entry in file.infolist())
        if unpacked > max(MOST_UNPACKED, 200 * path.stat().st_size):
            raise DataError(f"{path} would unpack to {unpacked >> 30:,} GiB; that is refused")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: _array(arrays, name, path) for name in arrays.files}
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"cannot read {path}: {one_line_text(error)}; is it an .npz file?") from None


def _array(arrays: Any, name: str, path: Path) -> np.ndarray:
    try:
        return arrays[name]
    except ValueError as error:
        if "allow_pickle" in str(error) or "Python objects" in str(error):
            raise DataError(
                f"{path}: '{name}' is pickled Python objects, which are refused; save numbers or texts"
            ) from None
        raise


def read_torch(path: Path) -> dict[str, Any]:
    """Tensors, texts and lists of a .pt file, by torch's safe mode; of other classes what PyG's `Data` is made of."""
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import AttrType, GlobalStorage

    # Once asked which attributes are of nodes, PyG keeps the answer beside them: a defaultdict of enums, which torch's
    # safe mode does not fill; a dictionary serves as well, as the answer is not used here.
    # Python before 3.11.4 saves an enum as getattr of it, which here gives nothing but that.
    cache = [AttrType, (_no_default, "collections.defaultdict"), (_kind_of_attribute, "builtins.getattr")]
    try:
        with _only_safe([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, *cache]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        asked = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f"it asks for {asked[1]}; {_SAVE}" if asked else f"it is damaged, or holds more than tensors; {_SAVE}"
        known = _REASONS.get(asked[1].rpartition(".")[2]) if asked else None
        raise DataError(f"{path} is refused: {known or what}") from None
    except Exception as error:
        raise DataError(f"cannot read {path}: {one_line_text(error)}; is it a file of torch.save?") from None
    if isinstance(content, tuple) and content:  # (data, slices), as PyG's datasets of one graph are saved
        content = content[0]
    if isinstance(content, Data):
        store = vars(content).get("_store")
        content = vars(store).get("_mapping") if isinstance(store, GlobalStorage) else None
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no graph; save a torch_geometric.data.Data, or a dictionary of tensors")
    return {str(name): _plain(value, str(name), path) for name, value in content.items() if value is not None}


@contextlib.contextmanager
def _only_safe(classes: list[Any]) -> Iterator[None]:
    """Let torch's safe mode make these and PyG's `EdgeIndex`, but nothing else that packages have declared safe."""
    before = torch.serialization.get_safe_globals()
    ends = [each for each in before if getattr(each, "__module__", "") == "torch_geometric.edge_index"]
    torch.serialization.clear_safe_globals()
    try:
        torch.serialization.add_safe_globals([*classes, *ends])
        yield
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(before)


def _kind_of_attribute(kind: Any, name: str) -> Any:
    from torch_geometric.data.storage import AttrType

    if kind is not AttrType:
        raise pickle.UnpicklingError("GLOBAL builtins.getattr")
    return AttrType[name]


def _no_default(*_: Any) -> dict[Any, Any]:
    return {}


def _plain(value: Any, name: str, path: Path) -> Any:
    """A tensor as an array, if it is as large as it says; a sparse one as a matrix of SciPy's."""
    if not isinstance(value, torch.Tensor):
        return value
    try:
        if value.layout != torch.strided:
            return _sparse(value, name, path)
        if value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise DataError(
                f"{path}: '{name}' claims {pluralize(value.numel(), 'value')} and holds fewer; that is refused"
            )
        value = value.detach()
        return (value.float() if value.dtype == torch.bfloat16 else value).contiguous().numpy()
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"cannot read {path}, '{name}': {one_line_text(error)}") from None


def _sparse(value: torch.Tensor, name: str, path: Path) -> Any:
    """Torch trusts the indices that it loads, so they are looked at before anything is done with them."""
    from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

    if value.layout == torch.sparse_coo:
        kind: Any = coo_matrix
        parts = [value._values(), *value._indices()]
    elif value.layout == torch.sparse_csr:
        kind, parts = csr_matrix, [value.values(), value.col_indices(), value.crow_indices()]
    elif value.layout == torch.sparse_csc:
        kind, parts = csc_matrix, [value.values(), value.row_indices(), value.ccol_indices()]
    else:
        raise DataError(f"{path}: '{name}' is of the layout {value.layout}, which is not read; save it in COO or CSR")
    values, *indices = (_plain(part, name, path) for part in parts)
    matrix = kind((values, tuple(indices)) if kind is coo_matrix else (values, *indices), shape=tuple(value.shape))
    if kind is not coo_matrix:  # whose indices were checked when it was made
        matrix.check_format(full_check=True)
    return matrix.tocsr()


def read_graphml(path: Path) -> Any:
    """The NetworkX graph in a GraphML file."""
    import networkx

    with open(path, "rb") as file:
        head = file.read(1 << 16)
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"\0" in head:
        raise DataError(f"{path} is refused: a GraphML file is XML in UTF-8 that declares no entities")
    try:
        return networkx.read_graphml(path)
    except Exception as error:
        raise DataError(f"cannot read {path}: {one_line_text(error)}") from None


def read_gml(path: Path) -> Any:
    """The NetworkX graph in a GML file."""
    import networkx

    try:
        return networkx.read_gml(path, label=None)
    except Exception as error:
        raise DataError(f"cannot read {path}: {one_line_text(error)}") from None


def matrix(path: Path) -> np.ndarray:
    """Features in an .npz file: a sparse matrix of SciPy's, or an array x or features."""
    whole = from_arrays(read_npz(path), str(path), features_only=True)
    if whole.x is None:
        raise DataError(f"{path} holds no features: save a SciPy matrix, or an array x of shape [nodes, features]")
    return whole.x
