"""The ids of nodes in a graph store, read in place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

BLOCK_IDS = 1 << 16


class StoredIds:
    """Ids as texts: from integers, or from texts that stand one behind the other between offsets [N + 1]."""

    def __init__(self, numbers_or_offsets: np.ndarray, text_bytes: np.ndarray | None = None) -> None:
        self.numbers_or_offsets, self.text_bytes = numbers_or_offsets, text_bytes

    def __len__(self) -> int:
        return len(self.numbers_or_offsets) - (self.text_bytes is not None)

    def __getitem__(self, node: int) -> str:
        if self.text_bytes is None:
            return str(self.numbers_or_offsets[node])
        start, stop = self.numbers_or_offsets[node : node + 2].tolist()
        return self.text_bytes[start:stop].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK_IDS):
            block = self.numbers_or_offsets[start : start + BLOCK_IDS + (self.text_bytes is not None)]
            if self.text_bytes is None:
                yield from map(str, block.tolist())
                continue
            content = self.text_bytes[block[0] : block[-1]].tobytes()
            ends = (block - block[0]).tolist()
            yield from (content[a:b].decode() for a, b in itertools.pairwise(ends))

    def __repr__(self) -> str:
        return f"StoredIds({len(self)})"
