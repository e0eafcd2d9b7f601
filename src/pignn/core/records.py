"""Typed records that are written as JSON."""

from __future__ import annotations

from typing import Any

import msgspec


class Record(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A record whose fields that do not apply are left out of its JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(msgspec.to_builtins(self))
