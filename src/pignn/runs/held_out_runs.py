"""What comparisons and searches share: how they begin, go on where they were killed, and are saved."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from ..core.progress import ShowProgress, progress_context
from ..io import files
from .graph_source import GraphSource, build_corruption_or_none
from .journal import Journal
from .run_folder import check_folder_holds_no_run_or_audit, locked_output_folder_or_cleanup_context


@contextlib.contextmanager
def graph_to_hold_labels_out_of_context(
    graph: Data | str | Path | None,
    graph_options: Mapping[str, Any],
    noise: Any,
    rate: float | None,
    seed: int,
    folder: Path | None,
    progress: ShowProgress,
    on_graph_read: Callable[[Data], None] | None,
) -> Iterator[Data]:
    """The graph with its label noise, while the folder is locked. Mistakes are told before the graph is read."""
    check_folder_holds_no_run_or_audit(folder)
    source = GraphSource(graph, graph_options)
    corruption = build_corruption_or_none(noise, rate, seed, source)
    with locked_output_folder_or_cleanup_context(folder), progress_context(progress):
        data = source.load_to_learn_from()
        if on_graph_read is not None:
            on_graph_read(data)
        yield data if corruption is None else corruption(data)


def open_or_restart_journal(folder: Path | None, name: str, work: Mapping[str, Any], force: bool) -> Journal:
    """The finished work in a file of a folder, or in memory without a folder. ``force`` begins anew."""
    path = None if folder is None else folder / name
    if force and path is not None:
        path.unlink(missing_ok=True)
    return Journal(path, {"format": 1} | dict(work))


class PageResult:
    """A result with a page of its own, which is saved into a folder as a whole."""

    def build_page_html(self) -> str:
        """A self-contained HTML page."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        raise NotImplementedError

    def write_files(self, folder: Path) -> None:
        """Write into a folder that is there. The JSON file comes last and says that the rest is whole."""
        raise NotImplementedError

    def report(self, path: str | Path | None = None) -> str:
        """A self-contained HTML page, also written to ``path`` if there is one."""
        page = self.build_page_html()
        if path is not None:
            files.write_bytes_atomically(Path(path), page.encode())
        return page

    def save(self, folder: str | Path) -> None:
        """Write tables, page and JSON into a folder, which is created if it is not there."""
        self.write_files(files.create_folder_and_prove_writable(Path(folder)))
