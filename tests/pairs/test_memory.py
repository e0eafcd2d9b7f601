"""The exact loss of a PubMed-sized graph fits beside its inputs; the dense way needs over 10 GB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

if not Path("/proc/self/status").exists():
    pytest.skip("needs /proc", allow_module_level=True)

CODE = """
import torch
from pignn import pairs

def peak():  # ru_maxrss would include the peak of the process that started this one
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))

def step(n, edges):
    h = torch.randn(n, 16, requires_grad=True)
    pairs.regularizer(h, torch.randn(n, 16), torch.randint(0, n, (2, edges)), target="{target}").backward()

step(600, 1000)  # libraries load on first use
before = peak()
step(19_717, 44_324)
print((peak() - before) / 1024)
"""


@pytest.mark.parametrize("target", ["masked", "soft"])
def test_pair_part_of_a_pubmed_sized_graph_takes_under_100_megabytes(target):
    result = subprocess.run(
        [sys.executable, "-c", CODE.format(target=target)], check=True, capture_output=True, text=True
    )
    assert 0 < float(result.stdout) < 100
