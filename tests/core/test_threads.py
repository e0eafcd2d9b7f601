from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from pignn.core import threads
from pignn.core.memory import ask_for_huge_pages, measure_resident_bytes, return_free_memory


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(threads, "_last_probe", None)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("size", "speedup", "num_threads"),
    [(threads.MIN_PARALLEL_SIZE, 1.8, 2), (threads.MIN_PARALLEL_SIZE, 0.3, 1), (threads.MIN_PARALLEL_SIZE - 1, 1.8, 1)],
    ids=["large work", "large work on a busy machine", "small work"],
)
def test_threads_fit_the_work_and_are_restored(two_threads, monkeypatch, size, speedup, num_threads):
    monkeypatch.setattr(threads, "measure_thread_speedup", lambda available: speedup)
    with threads.threads_context(size) as given:
        assert given == torch.get_num_threads() == num_threads
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("size", [10, threads.MIN_PARALLEL_SIZE])
def test_blas_of_numpy_and_scipy_has_one_thread_meanwhile(two_threads, monkeypatch, size):
    def list_blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    monkeypatch.setattr(threads, "measure_thread_speedup", lambda available: 2.0)
    with threadpool_limits(2, user_api="blas"):
        with threads.threads_context(size):
            assert set(list_blas_threads()) == {1}
        assert set(list_blas_threads()) == {2}


def test_threads_are_restored_after_an_error(two_threads):
    with pytest.raises(KeyError), threads.threads_context(10):
        raise KeyError
    assert torch.get_num_threads() == 2


def test_a_probe_serves_the_fits_that_follow_it(two_threads, monkeypatch):
    probes = []
    monkeypatch.setattr(threads, "measure_thread_speedup", lambda available: probes.append(available) or 2.0)
    for _ in range(3):
        with threads.threads_context(threads.MIN_PARALLEL_SIZE):
            pass
    assert probes == [2]


def test_one_thread_is_never_probed(two_threads, monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(threads, "measure_thread_speedup", lambda available: pytest.fail("probed"))
    with threads.threads_context(threads.MIN_PARALLEL_SIZE) as given:
        assert given == 1


def test_a_probe_leaves_the_number_of_threads_alone(two_threads):
    assert threads.measure_thread_speedup(2) > 0
    assert torch.get_num_threads() == 2


def read_spin_count(code: str, **variables: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in threads.WAIT_VARIABLES} | variables
    code += "; import os; print(os.environ.get('GOMP_SPINCOUNT'))"
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout.strip()


def test_waiting_threads_sleep_soon_unless_the_user_chose_otherwise_or_torch_came_first():
    assert read_spin_count("import pignn") == threads.SPIN_COUNT
    assert read_spin_count("import pignn", OMP_WAIT_POLICY="ACTIVE") == "None"
    assert read_spin_count("import torch, pignn") == "None"


def test_large_arrays_lie_on_huge_pages_unless_the_user_decided(monkeypatch):
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    ask_for_huge_pages()
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == "1"
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "0")
    ask_for_huge_pages()
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == "0"


def test_resident_memory_grows_with_arrays():
    before = measure_resident_bytes()
    array = torch.ones(1 << 22)
    assert measure_resident_bytes() - before > 8_000_000 or not before  # 16 MB, of which some was there
    del array
    return_free_memory()
