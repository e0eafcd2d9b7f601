"""Which versions a result was computed with."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version

PACKAGES = ("pignn", "torch", "torch_geometric", "numpy", "scipy", "scikit-learn")


@cache
def collect_versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute, and the kind of machine."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    return versions | {"machine": f"{platform.system()} {platform.machine()}"}
