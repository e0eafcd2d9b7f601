"""Graphs whose adjacency and features are sparse matrices in one .npz file: Amazon Photo and DBLP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import RawFiles
from .pyg import PyGDataset

_PARTS = ("data", "indices", "indptr", "shape")


class SparseNpzDataset(PyGDataset):
    """A graph in one .npz file with the matrices `adj` and `attr`."""

    def check_raw_file(self, path: Path, label: str) -> None:
        import scipy.sparse

        from ...io import safe_readers

        keys = {matrix: [f"{matrix}_{part}" for part in _PARTS] for matrix in ("adj", "attr")}
        arrays = safe_readers.read_npz(path, *keys["adj"], *keys["attr"], "labels", label=label)
        for matrix_keys in keys.values():
            data, indices, indptr, shape = (arrays[key] for key in matrix_keys)
            try:
                matrix = scipy.sparse.csr_matrix((data, indices, indptr), tuple(shape))
            except Exception as error:
                raise safe_readers.damaged_file_error(label, error) from None
            check_csr_matrix(matrix, label)

    def read_class_names(self, folder: Path) -> list[str]:
        from ...io import safe_readers

        arrays = safe_readers.read_npz(folder / self.raw.files[0], label=self.name)
        return [str(name) for name in arrays.get("class_names", ())]


def check_csr_matrix(matrix: Any, label: str) -> None:
    """SciPy trusts the indices of a sparse matrix when it makes a dense one, so they are checked here."""
    from ...io import safe_readers

    try:
        matrix.check_format(full_check=True)
    except Exception as error:
        raise safe_readers.damaged_file_error(label, error) from None


PHOTO = SparseNpzDataset(
    name="photo",
    num_nodes=7650,
    num_edges=238162,
    num_features=745,
    num_classes=8,
    kind="co-purchase",
    source="shchur/gnn-benchmark",
    license="MIT",
    raw=RawFiles(("Photo",), ("raw/amazon_electronics_photo.npz",)),
    loader="Amazon",
    loader_options={"name": "photo"},
    subfolder="Photo",
)
DBLP = SparseNpzDataset(
    name="dblp",
    num_nodes=17716,
    num_edges=105734,
    num_features=1639,
    num_classes=4,
    kind="citation",
    source="EdisonLeeeee/GraphData",
    license="MIT",
    raw=RawFiles(("dblp",), ("raw/dblp.npz",)),
    loader="CitationFull",
    loader_options={"name": "dblp"},
    subfolder="dblp",
)
