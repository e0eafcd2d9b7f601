"""A connection to a Ray cluster."""

from __future__ import annotations

from typing import Any

from .errors import ConfigError, PignnError


def import_ray() -> Any:
    """The module, or an error that says how to get it."""
    try:
        import ray
    except ImportError:
        raise ConfigError("Ray is not installed; pip install 'pignn[ray]', or leave out --ray") from None
    return ray


def connect_and_tell_if_newly_connected(ray: Any, address: str) -> bool:
    """Connect, unless this process is connected already. Returns whether it was not: then it has to shut down too.

    ``"auto"`` stands for RAY_ADDRESS or the cluster on this machine, a new one if there is none.
    """
    if ray.is_initialized():
        return False
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        try:
            ray.init(address=address, **quiet)
        except ConnectionError:
            if address != "auto":
                raise
            ray.init(include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise PignnError(f"no Ray cluster at '{address}': {reason}; start one with ray start --head") from None
    return True
