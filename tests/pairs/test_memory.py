"""The exact loss of a PubMed-sized graph fits beside its inputs; the dense way needs over 10 GB."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource")

CODE = """
import resource, torch
from pignn import pairs

def step(n, edges):
    h = torch.randn(n, 16, requires_grad=True)
    pairs.regularizer(h, torch.randn(n, 16), torch.randint(0, n, (2, edges)), target="{target}").backward()

step(600, 1000)  # libraries load on first use
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
step(19_717, 44_324)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("target", ["masked", "soft"])
def test_pair_part_of_a_pubmed_sized_graph_takes_under_100_megabytes(target):
    result = subprocess.run(
        [sys.executable, "-c", CODE.format(target=target)], check=True, capture_output=True, text=True
    )
    assert float(result.stdout) < 100
