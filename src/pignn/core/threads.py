"""Threads that fit the work, also beside other busy programs.

An OpenMP thread that waits for the others spins. Beside another busy program, the thread that it waits for may not run
for a whole time slice, so every parallel step takes milliseconds instead of microseconds and a training becomes tens of
times slower. Threads that sleep after a short while lose next to nothing on an idle machine.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

SPIN_COUNT = "1000"  # about 50 µs: longer than a barrier on an idle machine, far shorter than a time slice
WAIT_VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
MIN_PARALLEL_SIZE = 2**18  # numbers per operation; below, a second thread costs more than it brings
MIN_SPEEDUP = 1.1  # of all threads over one in the probe; with less, one thread is as good and leaves cores to others
PROBE_WIDTH, PROBE_REPEATS = 384, 8  # products small enough that the time at their barriers shows
PROBE_VALID_SECONDS = 10.0

_last_probe: tuple[float, float] | None = None  # when, and the speedup


def limit_thread_spinning() -> None:
    """Let waiting OpenMP threads sleep soon, unless the user chose how they wait.

    The OpenMP library reads its variables when torch is imported, so this comes before. Where torch came first,
    :func:`threads_context` notices slow threads by its probe and takes one.
    """
    if "torch" not in sys.modules and not any(name in os.environ for name in WAIT_VARIABLES):
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
        os.environ["KMP_BLOCKTIME"] = "1"  # milliseconds, where torch comes with LLVM's or Intel's library


@contextlib.contextmanager
def threads_context(size: int) -> Iterator[int]:
    """Inside, torch uses as many threads as operations on ``size`` numbers deserve, and BLAS one. Gives torch's number.

    What NumPy and SciPy multiply here is small and comes often: threads of their BLAS would wait for each other for
    most of the time, and an audit of 20,000 labels would take five times as long with two of them as with one.
    """
    import torch
    from threadpoolctl import threadpool_limits

    available = torch.get_num_threads()
    chosen = available if available == 1 else choose_num_threads(size, available)
    if chosen != available:
        torch.set_num_threads(chosen)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield chosen
    finally:
        if chosen != available:
            torch.set_num_threads(available)


def choose_num_threads(size: int, available: int) -> int:
    """One thread for small work and on a machine that is busy already, else all of them."""
    global _last_probe
    if size < MIN_PARALLEL_SIZE:
        return 1
    if _last_probe is None or time.monotonic() - _last_probe[0] > PROBE_VALID_SECONDS:
        _last_probe = time.monotonic(), measure_thread_speedup(available)
    return available if _last_probe[1] >= MIN_SPEEDUP else 1


def measure_thread_speedup(num_threads: int) -> float:
    """How many times as fast as one thread ``num_threads`` are just now, by some 50 milliseconds of products."""
    import torch

    x = torch.ones(PROBE_WIDTH, PROBE_WIDTH)
    out = torch.empty_like(x)
    seconds: dict[int, list[float]] = {1: [], num_threads: []}
    before = torch.get_num_threads()
    try:
        for _ in range(PROBE_REPEATS):
            for threads in seconds:
                torch.set_num_threads(threads)
                torch.mm(x, x, out=out)  # starts the threads
                start = time.perf_counter()
                torch.mm(x, x, out=out)
                seconds[threads].append(time.perf_counter() - start)
    finally:
        torch.set_num_threads(before)
    # One thread at its best: what interrupts it is no merit of the others.
    return min(seconds[1]) * PROBE_REPEATS / sum(seconds[num_threads])
