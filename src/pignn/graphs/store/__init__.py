"""Graphs larger than memory: a folder of arrays that is written from files in chunks and read in place.

A store holds the simple undirected graph (as :func:`~pignn.graphs.simplify_edges` makes it) row by row:

| file | holds |
|---|---|
| `store.json` | version, numbers of nodes, entries, features and classes, size and checksum of every other file |
| `crow.i64` | where the neighbors of each node begin in `col`, and the end of the last: nodes + 1 numbers |
| `col.i32` | the neighbors, ascending for each node; every edge is there twice |
| `weight.f32` | optional: their weights |
| `x.f32` | optional: features, node by node |
| `y.i64` | optional: given labels, -1 for none |
| `train.u8`, `val.u8`, `test.u8` | optional: masks, 0 or 1 |
| `id.i64` | optional: ids that are integers |
| `id_offset.i64`, `id_text.u8` | optional: where each id begins, and the last ends; the ids as one text in UTF-8 |

All numbers are little-endian. Whatever the input, memory stays within what `convert` is given: entries are first
divided by ranges into files, then each range is sorted on its own.
"""

from .conversion import convert
from .result import Conversion
from .store import HEADER_NAME, open_graph_store, open_graph_store_with_masks

__all__ = ["HEADER_NAME", "Conversion", "convert", "open_graph_store", "open_graph_store_with_masks"]
