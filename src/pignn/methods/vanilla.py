"""The backbone alone."""

from __future__ import annotations

from dataclasses import dataclass

from .core.network import NetworkMethod


@dataclass(kw_only=True, eq=False, repr=False)
class Vanilla(NetworkMethod):
    """A graph network trained by cross-entropy on the given labels, as if they were right."""
