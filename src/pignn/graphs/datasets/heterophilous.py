"""Chameleon in the format of Platonov et al., "A critical look at the evaluation of GNNs under heterophily"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import unknown
from ...core.text import one_line_text
from .base import Dataset, RawFiles, Root

if TYPE_CHECKING:
    from torch_geometric.data import Data

URL = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
VARIANTS = ("full", "filtered")


@dataclass(frozen=True, kw_only=True)
class HeterophilousDataset(Dataset):
    """A graph in one .npz file with ten splits, whole or without duplicate nodes (`variant="filtered"`)."""

    @property
    def option_names(self) -> list[str]:
        return ["variant"]

    def check_options(self, options: Mapping[str, Any]) -> None:
        super().check_options(options)
        if options.get("variant", "full") not in VARIANTS:
            raise unknown(f"variant of {self.name}", options["variant"], VARIANTS)

    def get_expected_num_nodes(self, options: Mapping[str, Any]) -> int | None:
        return None if options.get("variant") == "filtered" else self.num_nodes

    def get_raw_files(self, options: Mapping[str, Any]) -> RawFiles:
        suffix = "_filtered" if options.get("variant") == "filtered" else ""
        return RawFiles((self.name,), (f"{self.name}{suffix}.npz",))

    def read(self, root: Root, **options: Any) -> Data:
        import torch
        from torch_geometric.data import Data

        from ...io.safe_readers import read_npz
        from .raw_source import check_graph_parts, open_raw_folder

        raw = self.get_raw_files(options)
        masks = ("train_masks", "val_masks", "test_masks")
        with open_raw_folder(
            self.name, raw, root, lambda folder: self._download_to_folder(raw.files[0], folder)
        ) as folder:
            arrays = read_npz(folder / raw.files[0], "node_features", "node_labels", "edges", *masks)
            tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
            edges = tensors["edges"].long().t()
            data = Data(
                x=tensors["node_features"].float(),
                edge_index=torch.cat([edges, edges.flip(0)], dim=1),  # the file has every undirected edge once
                y=tensors["node_labels"].long(),
            )
            for name in masks:
                data[name[:-1]] = tensors[name].bool().t().contiguous()
            return check_graph_parts(self, data, folder)

    def _download_to_folder(self, file: str, folder: Path) -> Path:
        from torch_geometric.data import download_url

        from ...io.safe_readers import read_npz
        from .raw_source import DownloadError

        try:
            download_url(f"{URL}/{file}", str(folder))
            read_npz(folder / file, "node_features", label=f"the downloaded {file}")
        except Exception as error:
            raise DownloadError(one_line_text(error)) from None
        return folder


CHAMELEON = HeterophilousDataset(
    name="chameleon",
    num_nodes=2277,
    num_edges=62742,
    num_features=2325,
    num_classes=5,
    kind="hyperlinks",
    note="heterophilous, 10 splits; variant='filtered' has no duplicate nodes",
    source="yandex-research/heterophilous-graphs",
    license="MIT",
)
