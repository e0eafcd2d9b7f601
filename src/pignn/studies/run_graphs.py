"""The graph of a run: loaded, split, made noisy; and the fingerprints of what came out."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from .. import graphs, noise
from ..core.errors import ConfigError
from ..graphs.datasets import get_dataset
from ..graphs.splits import Masks, split_per_class
from ..noise.registry import NOISES
from .code_hash import canonical, digest, package_version
from .study import is_named

KEPT = 4  # graphs that a process holds on to
_graphs: dict[str, tuple[Data, str]] = {}

GRAPH = ("x", "edge_index", "crow", "col", "edge_weight", "label_weight")
LABELS = ("y", "y_true", "train_mask", "val_mask", "test_mask", "trusted_mask")


def graph(job: dict[str, Any]) -> tuple[Data, str]:
    """The clean graph of a run with its masks, and the fingerprint of features and edges; kept for the next run."""
    key = canonical([job["dataset"], job["options"], job["split"], job["split_seed"]])
    if key not in _graphs:
        while len(_graphs) >= KEPT:
            del _graphs[next(iter(_graphs))]
        data = _load(job)
        # Of the graph as a method gets it, so that a change of the checks matters only where it changes something.
        _graphs[key] = data, _digest(graphs.check_graph(data), GRAPH)
    _graphs[key] = _graphs.pop(key)  # the newest last
    return _graphs[key]


def _load(job: dict[str, Any]) -> Data:
    name, rule, seed = job["dataset"], job["split"], job["split_seed"]
    options = dict(job["options"])
    if not is_named(name):
        if options:
            raise ConfigError(f"{name} is a store: it has no option '{next(iter(options))}'")
        if rule not in ("default", "random"):
            raise ConfigError(f"{name} is a store: split '{rule}' is for named datasets")
        return graphs.load_graph_store(name, split=rule, split_seed=seed)
    if rule == "own":
        data = graphs.load(name, split="own", **options)
        splits = data.train_mask.shape[1] if data.train_mask.dim() == 2 else 1
        if splits > 1:
            data = graphs.load(name, split="own", split_index=seed % splits, **options)
        return data
    if rule == "noisygl":
        data = graphs.load(name, **options)
        masks = noisygl_masks(name, data.y, seed)
        if masks is not None:
            data.train_mask, data.val_mask, data.test_mask = masks
        return data
    return graphs.load(name, split=rule, split_seed=seed, **options)


def noisygl_masks(name: str, y: Tensor, seed: int) -> Masks | None:
    """The splits of the NoisyGL benchmark: the public one where there is one (``None``), 1 % + 15 % of the nodes on
    DBLP, and on the others 20 nodes a class, 500 for validation and 1,000 for testing, drawn by ``seed``."""
    if get_dataset(name).has_official_split:
        return None
    generator = torch.Generator().manual_seed(seed)
    if name == "dblp":
        order = torch.randperm(y.numel(), generator=generator)
        train, val = int(0.01 * y.numel()), int(0.15 * y.numel())
        test = y.numel() - train - val
    else:
        chosen = split_per_class(y, seed=seed).train_mask
        others = (~chosen & (y >= 0)).nonzero().view(-1)
        train = int(chosen.sum())
        val, test = min(500, others.numel() // 3), min(1000, others.numel() - others.numel() // 3)
        shuffled = others[torch.randperm(others.numel(), generator=generator)]
        order = torch.cat([chosen.nonzero().view(-1), shuffled])
    masks = [torch.zeros(y.numel(), dtype=torch.bool) for _ in range(3)]
    at = 0
    for mask, size in zip(masks, (train, val, test), strict=True):
        mask[order[at : at + size]] = True
        at += size
    return Masks(*masks)


def noisy(job: dict[str, Any]) -> tuple[Data, str]:
    """The graph of a run as a method sees it, and the fingerprint of its labels and masks."""
    data = _trusting(graph(job)[0], job)
    found = noise.corrupt(
        data, noise.load_noise(job["noise"]), job["rate"], seed=job["seed"], splits=tuple(job["noisy"])
    )
    return found, _digest(found, LABELS)


def _trusting(data: Data, job: dict[str, Any]) -> Data:
    """With as many trusted labels a class as the method cannot do without."""
    count = job["trusted"]
    return graphs.sample_trusted(data, count, seed=job["seed"]) if count else data


def labels_fingerprint(job: dict[str, Any]) -> str:
    """That of :func:`noisy`, without reading features and edges where the noise does not depend on them."""
    if job["noise"] in NOISES and NOISES.get(job["noise"]).depends_on_graph:
        return noisy(job)[1]
    data = _trusting(graph(job)[0], job)
    small = Data(
        x=torch.zeros(data.num_nodes, 1),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        **{key: data[key] for key in (*LABELS, "class_names") if data.get(key) is not None},
    )
    kind = noise.load_noise(job["noise"])
    found = noise.corrupt(small, kind, job["rate"], seed=job["seed"], splits=tuple(job["noisy"]))
    return _digest(found, LABELS)


def _digest(data: Data, keys: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    # A store on disk knows the digest of its features and edges; of labels there are many, as of any graph.
    own = data.get("digest") if keys is GRAPH and data.get("checked") else None
    total.update(str(own).encode())
    for key in keys:
        value = data.get(key)
        if value is None or (own and key in ("x", "crow", "col", "edge_weight")):
            continue
        array = np.ascontiguousarray(torch.as_tensor(value).detach().cpu().numpy())
        total.update(f"{key}{array.dtype}{array.shape}".encode())
        total.update(array.data)
    return total.hexdigest()[:16]


def graph_key(job: dict[str, Any]) -> str | None:
    """What the fingerprint of a graph may be remembered by: its raw files and the code that reads them; or nothing."""
    if not is_named(job["dataset"]):
        return None
    # Raw files by their size and time: reading them all again would take longer than many a run.
    name = job["dataset"].lower()
    raw = get_dataset(name).get_raw_files(job["options"])
    paths = [] if raw is None else raw.list_paths()
    if raw is not None and not paths:
        return None
    files = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
    about_split = [job["split"], job["split_seed"]]
    return digest("graph", canonical([name, job["options"], about_split, files]), _reading_code())


def labels_key(job: dict[str, Any], graph_fingerprint: str) -> str:
    """What the fingerprint of noisy labels may be remembered by."""
    kind = job["noise"]
    content = Path(kind).read_bytes() if Path(kind).is_file() else b""
    about = [graph_fingerprint, kind, job["rate"], job["seed"], job["noisy"], job["split"], job["split_seed"]]
    about += [job["dataset"], job["options"], job["trusted"]]
    return digest("labels", canonical(about), content, _reading_code())


@cache
def _reading_code() -> str:
    return digest(*(package_version(name) for name in ("pignn.graphs", "pignn.noise", "pignn.studies.run_graphs")))
