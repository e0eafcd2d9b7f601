"""The exact loss of a PubMed-sized graph fits beside its inputs; the dense way needs over 10 GB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from pignn import pairs

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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("target", ["masked", "soft"])
def test_pair_part_of_a_pubmed_sized_graph_takes_under_100_megabytes(target):
    result = subprocess.run(
        [sys.executable, "-c", CODE.format(target=target)], check=True, capture_output=True, text=True
    )
    assert 0 < float(result.stdout) < 100


@pytest.mark.parametrize("spread", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("target", ["masked", "soft"])
def test_nothing_of_a_tile_is_allocated_anew_for_each(target, spread):
    """What is allocated and given back tile after tile can leave gaps that nothing fits into: a new one each time."""
    n = 6_400
    h, h_e = (torch.randn(n, 16).mul_(spread).requires_grad_() for _ in range(2))
    graph = pairs.PairGraph(torch.randint(0, n, (2, 10_000)), n)
    graph.group_connected_positions_by_tile(640)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as steps:
        pairs.structure_loss(h_e, graph)
        pairs.regularizer(h, h_e, graph, target=target)
        pairs.compute_structure_loss_and_regularizer(h_e, h, graph, target=target)
    allocated = sum(max(0, event.self_cpu_memory_usage) for event in steps.events())
    pairs_of_all = n * (n + 640) / 2 * 4  # bytes of one number for each pair of the 55 tiles
    assert allocated < pairs_of_all / 2
