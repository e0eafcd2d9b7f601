"""ogbn-arxiv and ogbn-products of the Open Graph Benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .base import RawFiles, Root
from .ogb_spec import STAND_IN, OGBSpec

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, kw_only=True)
class OGBDataset(OGBSpec):
    """A graph of OGB in its raw folder."""

    def read(self, root: Root, **options: Any) -> Data:
        from .ogb_reader import read_ogb

        return read_ogb(self, root, stand_in=options.get("features") == STAND_IN)


ARXIV = OGBDataset(
    name="ogbn-arxiv",
    num_nodes=169343,
    num_edges=1166243,
    num_features=128,
    num_classes=40,
    kind="citation",
    note="directed, time split",
    source="OGB",
    license="ODC-BY",
    split_rule="time",
    structure=RawFiles(("ogbn-arxiv", "ogbn_arxiv", "arxiv"), ("arxiv_structure_labels_split.npz",)),
)
PRODUCTS = OGBDataset(
    name="ogbn-products",
    num_nodes=2449029,
    num_edges=123718280,
    num_features=100,
    num_classes=47,
    kind="co-purchase",
    note="sales split",
    source="OGB",
    license="Amazon",
    split_rule="sales_ranking",
    is_undirected=True,
)
