"""Several processes of one training, started by torchrun. Gradients are averaged, all else stays as it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..core.errors import PignnError

DEFAULT_TIMEOUT_SECONDS = 120.0


def get_rank_and_world_size() -> tuple[int, int]:
    """The number of this process, from 0, and how many there are."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_available() and dist.is_initialized() else (0, 1)


def is_main_process() -> bool:
    """Whether this process is the one that writes files and prints."""
    return get_rank_and_world_size()[0] == 0


@contextlib.contextmanager
def process_group_context(device: str = "cpu") -> Iterator[None]:
    """Connect to the other processes that torchrun started, if there are any."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size < 2 or dist.is_initialized():
        yield
        return
    seconds = float(os.environ.get("PIGNN_JOIN_SECONDS", DEFAULT_TIMEOUT_SECONDS))
    backend = "nccl" if device.startswith("cuda") else "gloo"
    limit = timedelta(seconds=seconds)
    try:
        store, rank, size = next(dist.rendezvous("env://", timeout=limit))
        # After a restart the store still has the addresses of the processes that are gone.
        store = dist.PrefixStore(f"attempt-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=limit)
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0][:150]
        raise PignnError(f"not all {size} processes met within {seconds:.0f} seconds ({reason})") from None
    try:
        yield
    finally:
        with contextlib.suppress(RuntimeError):
            dist.destroy_process_group()


@contextlib.contextmanager
def translate_peer_failure_context() -> Iterator[None]:
    """Turn the failure of a message into our error of one line."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0][:150]
        raise PignnError(f"another process of this training is gone: {reason}") from None


def average_gradients_over_processes(networks: Iterable[nn.Module]) -> None:
    """Average every gradient over all processes, in one message. A missing gradient counts as zero."""
    size = get_rank_and_world_size()[1]
    if size == 1:
        return
    parameters = [p for network in networks for p in network.parameters() if p.requires_grad]
    has_grad = torch.tensor([p.grad is not None for p in parameters], dtype=torch.float32, device=parameters[0].device)
    flat = torch.cat([has_grad, *((torch.zeros_like(p) if p.grad is None else p.grad).view(-1) for p in parameters)])
    with translate_peer_failure_context():
        dist.all_reduce(flat)
    has_grad, flat = flat[: has_grad.numel()], flat[has_grad.numel() :] / size
    for p, is_used, part in zip(parameters, has_grad, flat.split([p.numel() for p in parameters]), strict=True):
        p.grad = part.view_as(p).clone() if is_used else None


def max_over_processes_or_none(number: int | None) -> int | None:
    """The largest number of all processes, so that all of them act alike. 0 is ``None``."""
    if get_rank_and_world_size()[1] == 1:
        return number
    value = torch.tensor(number or 0)
    with translate_peer_failure_context():
        dist.all_reduce(value, op=dist.ReduceOp.MAX)
    return int(value) or None


def gather_tensors_by_rank(tensor: Tensor) -> list[Tensor]:
    """The tensor of every process, by rank."""
    size = get_rank_and_world_size()[1]
    if size == 1:
        return [tensor]
    parts = [torch.empty_like(tensor) for _ in range(size)]
    with translate_peer_failure_context():
        dist.all_gather(parts, tensor)
    return parts
