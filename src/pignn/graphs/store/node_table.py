"""The table of nodes of a store: ids, labels and masks, and features exactly as `read_graph` makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ...core.errors import ConfigError, DataError
from ...core.text import format_count
from ..importers.build_data import warn_if_columns_leak_labels
from ..importers.feature_encoder import FeatureEncoder, select_feature_columns_and_kinds
from ..importers.node_ids import ID_NAMES
from ..importers.raw_graph import RawGraph
from ..tables.table import CHUNK_ROWS, Table
from .node_ids import IdDatabase
from .nodes import NodeWriter, parse_mask_as_uint8

MIN_KEPT_ROWS = 1000  # that tell what a column is
KEPT_SHARE = 4  # the rows that are kept take at most a quarter of the memory
ROW_BYTES = 64  # of a cell while it is parsed


@dataclass
class NodeTable:
    """A table of nodes, its roles, and the rows that are kept: all of them while they fit, else every second, ..."""

    table: Table
    id: str | None
    label: str | None
    masks: dict[str, str]  # columns by name of the mask
    patterns: Sequence[str] | None
    memory: int
    sampled_frames: list[pd.DataFrame] = field(default_factory=list)
    stride: int = 1
    num_rows: int = 0

    def __post_init__(self) -> None:
        table = self.table
        if not table.has_header:
            raise DataError(f"{table.name} needs a header: a first row with the names of its columns")
        for name in (self.id, self.label, *self.masks.values()):
            if name is not None:
                table.check_column_exists_and_get_name(name)
        if self.id is None:  # pandas writes the numbers of rows into a column without a name
            used = {self.label, *self.masks.values()}
            self.id = next((n for n in table.columns if n.lower() in (*ID_NAMES, "") and n not in used), None)
        self.select_columns_and_kinds()

    @property
    def text_columns(self) -> list[str]:
        return [name for name in (self.id, self.label, *self.masks.values()) if name is not None]

    def select_columns_and_kinds(self) -> tuple[list[str], dict[str, str]]:
        """The columns of features, and the kinds that were given for them."""
        roles = {name: f"{mask} mask" for mask, name in self.masks.items()}
        roles |= {name: role for role, name in (("label", self.label), ("id", self.id)) if name is not None}
        if self.patterns is None:
            return [name for name in self.table.columns if name not in roles], {}
        return select_feature_columns_and_kinds(self.patterns, self.table.columns, roles)

    def write_ids_labels_and_masks(self, writer: NodeWriter, ids: IdDatabase, *, with_feature_sample: bool) -> None:
        """Read the table through: ids go to the database, labels and masks to the store, features stay for later."""
        writer.bar.start_step("nodes")
        title = self.table.name
        with (
            writer.label_code_writer_context(self.label is not None) as labels,
            writer.mask_files_context(self.masks) as masks,
        ):
            for frame, first, fraction in self._iter_chunks():
                if self.id is not None:
                    row = self.table.first_row_number + first
                    ids.check_and_add_ids(frame[self.id], f"{title}, column '{self.id}'", row)
                if labels is not None and self.label is not None:
                    labels(frame[self.label], f"{title}, column '{self.label}'")
                for name, file in masks.items():
                    file.write(
                        parse_mask_as_uint8(frame[self.masks[name]], f"{title}, column '{self.masks[name]}'", first)
                    )
                if with_feature_sample:
                    self._add_to_sample_and_thin_if_too_large(
                        frame.drop(columns=[name for name in self.text_columns if name in frame]), first
                    )
                self.num_rows = first + len(frame)
                writer.bar.update(fraction)
        writer.lengths[title] = self.num_rows
        if ids.num_ids:
            ids.infer_id_kind_and_check_unique()

    def fit_feature_encoder_and_warn_of_leaks(
        self, y: np.ndarray | None, crow: np.ndarray, col: np.ndarray
    ) -> FeatureEncoder:
        """The encoder of the features, fitted on the rows that were kept."""
        columns, kinds = self.select_columns_and_kinds()
        sample = self._make_raw_graph(
            pd.concat(self.sampled_frames) if self.sampled_frames else pd.DataFrame(index=range(len(crow) - 1))
        )
        sample.crow, sample.col = crow, col
        encoder = FeatureEncoder.fit(sample, columns, kinds, with_structural_features=False)
        if y is not None:
            warn_if_columns_leak_labels(sample.frame, encoder.input_columns, y[sample.frame.index.to_numpy()])
        if self.stride > 1:
            rows = format_count(len(sample.frame), "row")
            encoder.column_notes["(all)"] = f"scales, categories and words come from every {self.stride}th row ({rows})"
        return encoder

    def encode_and_write_features(
        self, writer: NodeWriter, encoder: FeatureEncoder, crow: np.ndarray, col: np.ndarray
    ) -> None:
        """Encode all rows: those that were kept if they are all, else the table once more."""
        writer.bar.start_step("features")
        dtypes = pd.concat([frame.iloc[:0] for frame in self.sampled_frames]).dtypes if self.sampled_frames else None
        with writer.open_and_register_store_file("x.f32") as file:
            for frame, fraction in self._iter_feature_frames_with_progress(len(crow) - 1):
                part = self._make_raw_graph(frame if dtypes is None else frame[list(dtypes.index)].astype(dtypes))
                part.crow, part.col = crow, col
                file.write(encoder.encode(part).numpy())
                writer.bar.update(fraction)
        writer.num_features = encoder.width

    def _iter_feature_frames_with_progress(self, num_nodes: int) -> Iterator[tuple[pd.DataFrame, float]]:
        if not self.sampled_frames:
            yield pd.DataFrame(index=range(num_nodes)), 1.0
        elif self.stride == 1:
            for i, frame in enumerate(self.sampled_frames):
                yield frame, (i + 1) / len(self.sampled_frames)
        else:
            for frame, _, fraction in self._iter_chunks():
                yield frame, fraction

    def _iter_chunks(self) -> Iterator[tuple[pd.DataFrame, int, float]]:
        rows = min(max(self.memory // (ROW_BYTES * max(len(self.table.columns), 1)), 16), CHUNK_ROWS)
        for frame, first, fraction in self.table.iter_chunks(rows, self.text_columns):
            yield self.table.narrow_wide_features_to_float32(frame, self.text_columns), first, fraction

    def _add_to_sample_and_thin_if_too_large(self, frame: pd.DataFrame, first_row: int) -> None:
        frame.index = pd.RangeIndex(first_row, first_row + len(frame))
        self.sampled_frames.append(frame.iloc[-first_row % self.stride :: self.stride])
        while sum(int(each.memory_usage(deep=True).sum()) for each in self.sampled_frames) > self.memory // KEPT_SHARE:
            if sum(map(len, self.sampled_frames)) < 2 * MIN_KEPT_ROWS:
                return
            self.stride *= 2
            self.sampled_frames = [each[each.index % self.stride == 0] for each in self.sampled_frames]

    def _make_raw_graph(self, frame: pd.DataFrame) -> RawGraph:
        raw_graph = RawGraph(self.table.name, frame, ends=np.empty((2, 0), np.int64))
        raw_graph.origin.delimiter, raw_graph.origin.has_header = self.table.delimiter, self.table.has_header
        return raw_graph


def memory_map_edge_files(folder: Path, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of the edges that were written."""
    crow = np.memmap(folder / "crow.i64", "<i8", "r", shape=(num_nodes + 1,))
    num_entries = int(crow[-1])
    return crow, np.memmap(folder / "col.i32", "<i4", "r", shape=(num_entries,)) if num_entries else np.empty(
        0, np.int32
    )


def check_features_given_once(column_patterns: Sequence[str] | None, has_feature_array: bool) -> None:
    if column_patterns and has_feature_array:
        raise ConfigError("features are given twice: as an array (features) and as columns of the node file")
