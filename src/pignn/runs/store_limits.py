"""What a run on a graph store may use: memory of this machine, or machines of a cluster."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ..core.errors import ConfigError
from ..methods import Method
from ..propagation import BlockWork, block_work_and_cleanup_context
from .early_checks import is_graph_store
from .graph_source import GraphSource

DEFAULT_MEMORY = 4_000_000_000  # of a task on a cluster


@dataclass(frozen=True)
class StoreLimits:
    """What a run on a graph store may use, as commands and functions take it.

    Args:
        memory: bytes to stay within, about, for a store that is larger than memory; on a cluster, those of one task.
        ray: address of a Ray cluster that works on the store, ``"auto"`` for the one here.
        resume: go on with what a run with ``memory`` or ``ray`` into the same output had finished when it was stopped.
    """

    memory: int | None
    ray: str | None
    resume: bool

    @property
    def are_given(self) -> bool:
        return self.memory is not None or self.ray is not None

    def check_options_fit(self, source: GraphSource, method: str | Method, expected: str) -> Self:
        """Refuse options that do not go together. Only the method ``expected`` works by blocks."""
        if self.resume and not self.are_given:
            raise ConfigError("--resume goes on with a run that has --memory or --ray; give the same options again")
        if not self.are_given:
            return self
        if self.memory is not None and self.memory < 1:
            raise ConfigError(f"memory must be a positive number of bytes, not {self.memory}")
        if not isinstance(source.graph, str | Path) or not is_graph_store(str(source.graph)):
            raise ConfigError("--memory and --ray are for graph stores; make one with pignn convert")
        name = method.name if isinstance(method, Method) else method
        if name != expected:
            raise ConfigError(f"--memory and --ray are for the method '{expected}', not '{name}'; leave them out")
        return self

    @contextlib.contextmanager
    def block_work_context(self, source: GraphSource, out: Path | None) -> Iterator[BlockWork | None]:
        """Inside, the store is smoothed within the limits. What is finished is kept beside ``out`` until the end."""
        if not self.are_given:
            yield None
            return
        with tempfile.TemporaryDirectory() if out is None else contextlib.nullcontext(f"{out}.blocks") as folder:
            work = BlockWork(Path(str(source.graph)), Path(folder), self.memory or DEFAULT_MEMORY, self.ray)
            with block_work_and_cleanup_context(work, reuse_saved_blocks=self.resume):
                yield work
