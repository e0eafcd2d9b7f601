"""Files that hold a whole graph: .npz, PyG's .pt, .graphml and .gml. Nothing in them is run."""

from __future__ import annotations

import contextlib
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import DataError
from ...core.text import format_count, format_error_in_one_line
from ..tables.formats import FORMATS, find_format_name_or_none
from .graph_arrays import build_raw_graph_from_arrays, build_raw_graph_from_networkx
from .raw_graph import RawGraph

if TYPE_CHECKING:
    import torch

_SAVE_ADVICE = "a graph is saved with torch.save(data, ...) or as a dictionary of tensors"
# Classes that a .pt file may ask for and that stand for something people do save.
_REFUSAL_REASONS = {
    "HeteroData": "heterogeneous graphs are not supported; save one kind of nodes, with data.to_homogeneous()",
    "SparseTensor": "the adjacency is a SparseTensor of torch_sparse, which is not read; save edge_index instead",
}


def read_raw_graph_file(path: Path) -> RawGraph:
    """Read a file that holds a whole graph."""
    if not path.is_file():
        raise DataError(f"cannot read {path}: " + ("it is a folder" if path.is_dir() else "no such file"))
    if not path.stat().st_size:
        raise DataError(f"{path} is empty")
    name = find_format_name_or_none(path)
    assert name is not None
    content = FORMATS.get(name).import_reader()(path)
    build = build_raw_graph_from_arrays if isinstance(content, dict) else build_raw_graph_from_networkx
    return build(content, str(path))


def read_torch_file_as_arrays(path: Path) -> dict[str, Any]:
    """Read a .pt file in torch's safe mode: tensors, texts, lists, and the classes that PyG's `Data` is made of."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import AttrType, GlobalStorage

    # Once asked which attributes are of nodes, PyG keeps the answer beside them: a defaultdict of enums, which torch's
    # safe mode does not fill; a dictionary serves as well, as the answer is not used here.
    # Python before 3.11.4 saves an enum as getattr of it, which here gives nothing but that.
    cache = [
        AttrType,
        (_ignore_arguments_and_return_empty_dict, "collections.defaultdict"),
        (_getattr_of_attr_type_or_raise, "builtins.getattr"),
    ]
    try:
        with _only_these_safe_globals_context([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, *cache]):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        match = re.search(r"GLOBAL ([\w.]+)", str(error))
        asked = f"it asks for {match[1]}" if match else "it is damaged, or holds more than tensors"
        reason = _REFUSAL_REASONS.get(match[1].rpartition(".")[2]) if match else None
        raise DataError(f"{path} is refused: {reason or f'{asked}; {_SAVE_ADVICE}'}") from None
    except Exception as error:
        raise DataError(f"cannot read {path}: {format_error_in_one_line(error)}; is it a file of torch.save?") from None
    if isinstance(content, tuple) and content:  # (data, slices), as PyG's datasets of one graph are saved
        content = content[0]
    if isinstance(content, Data):
        store = vars(content).get("_store")
        content = vars(store).get("_mapping") if isinstance(store, GlobalStorage) else None
    if not isinstance(content, dict):
        raise DataError(f"{path} holds no graph; save a torch_geometric.data.Data, or a dictionary of tensors")
    return {
        str(name): _convert_tensor_to_numpy_or_keep(value, str(name), path)
        for name, value in content.items()
        if value is not None
    }


@contextlib.contextmanager
def _only_these_safe_globals_context(classes: list[Any]) -> Iterator[None]:
    """Let torch's safe mode build these classes and PyG's `EdgeIndex`, and nothing else that packages declared safe."""
    import torch

    before = torch.serialization.get_safe_globals()
    edge_index = [each for each in before if getattr(each, "__module__", "") == "torch_geometric.edge_index"]
    torch.serialization.clear_safe_globals()
    try:
        torch.serialization.add_safe_globals([*classes, *edge_index])
        yield
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(before)


def _getattr_of_attr_type_or_raise(owner: Any, name: str) -> Any:
    from torch_geometric.data.storage import AttrType

    if owner is not AttrType:
        raise pickle.UnpicklingError("GLOBAL builtins.getattr")
    return AttrType[name]


def _ignore_arguments_and_return_empty_dict(*_: Any) -> dict[Any, Any]:
    return {}


def _convert_tensor_to_numpy_or_keep(value: Any, name: str, path: Path) -> Any:
    """A tensor as an array, if it is as large as it claims; a sparse one as a SciPy matrix; others as they are."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    try:
        if value.layout != torch.strided:
            return _to_scipy_matrix(value, name, path)
        if value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise DataError(
                f"{path}: '{name}' claims {format_count(value.numel(), 'value')} and holds fewer; that is refused"
            )
        value = value.detach()
        return (value.float() if value.dtype == torch.bfloat16 else value).contiguous().numpy()
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"cannot read {path}, '{name}': {format_error_in_one_line(error)}") from None


def _to_scipy_matrix(value: torch.Tensor, name: str, path: Path) -> Any:
    """A sparse tensor as a SciPy matrix. Torch trusts the indices that it loads, so they are checked first."""
    import torch
    from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

    if value.layout == torch.sparse_coo:
        matrix_type: Any = coo_matrix
        parts = [value._values(), *value._indices()]
    elif value.layout == torch.sparse_csr:
        matrix_type, parts = csr_matrix, [value.values(), value.col_indices(), value.crow_indices()]
    elif value.layout == torch.sparse_csc:
        matrix_type, parts = csc_matrix, [value.values(), value.row_indices(), value.ccol_indices()]
    else:
        raise DataError(f"{path}: '{name}' is of the layout {value.layout}, which is not read; save it in COO or CSR")
    values, *indices = (_convert_tensor_to_numpy_or_keep(part, name, path) for part in parts)
    content = (values, tuple(indices)) if matrix_type is coo_matrix else (values, *indices)
    matrix = matrix_type(content, shape=tuple(value.shape))
    if matrix_type is not coo_matrix:  # whose indices were checked when it was made
        matrix.check_format(full_check=True)
    return matrix.tocsr()


def read_graphml_as_networkx(path: Path) -> Any:
    """The NetworkX graph in a GraphML file."""
    import networkx

    with open(path, "rb") as file:
        head = file.read(1 << 16)
    if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"\0" in head:
        raise DataError(f"{path} is refused: a GraphML file is XML in UTF-8 that declares no entities")
    try:
        return networkx.read_graphml(path)
    except Exception as error:
        raise DataError(f"cannot read {path}: {format_error_in_one_line(error)}") from None


def read_gml_as_networkx(path: Path) -> Any:
    """The NetworkX graph in a GML file."""
    import networkx

    try:
        return networkx.read_gml(path, label=None)
    except Exception as error:
        raise DataError(f"cannot read {path}: {format_error_in_one_line(error)}") from None
