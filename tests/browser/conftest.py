"""Files of a graph with hostile names in every column."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from pignn import graphs
from pignn.noise import corrupt

CLASSES = ['<img src=x onerror="window.hurt=1">', "=1+1", 'Größe, "groß" \u202eabc\u202c']
HOSTILE = {0: "</script><script>window.hurt=2</script>", 1: "y" * 10_000, 2: "<svg onload=window.hurt=3>", 3: "-3,x"}


@pytest.fixture(scope="module")
def own_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nodes.csv and edges.csv."""
    folder = tmp_path_factory.mktemp("files")
    clean = graphs.csbm(240, 3, homophily=0.9, degree=8, signal=3.0, num_features=3)
    data = corrupt(clean, "symmetric", 0.2, splits="all")
    ids = [HOSTILE.get(i, f"n{i}") for i in range(240)]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "a", "b", "c", "label", "remark", "who"])
        for i in range(240):
            remark = f"<b onclick=window.hurt=4>remark {i}</b>"
            rows.writerow([ids[i], *data.x[i].tolist(), CLASSES[data.y[i]], remark, f"<i>p{i % 4}</i>"])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target"])
        rows.writerows([ids[a], ids[b]] for a, b in data.edge_index.t().tolist() if a < b)
    return folder


def flags(folder: Path) -> list[Any]:
    """Options of a command that reads these files."""
    files = ["--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv"]
    return [*files, "--label", "label", "--features", "a,b,c"]
