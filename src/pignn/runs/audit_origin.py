"""Which table was audited, by the audit.json in its folder. Nothing here imports torch."""

from __future__ import annotations

from pathlib import Path

import msgspec


class AuditOrigin(msgspec.Struct, kw_only=True):
    """The table that was audited, as audit.json names it for ``pignn apply``."""

    nodes: str = ""
    id: str | None  # its column of ids; None if rows are numbered
    label: str | None = None


class AuditHeader(msgspec.Struct):
    """What audit.json says about the table that was audited."""

    origin: AuditOrigin


def read_audit_origin_or_none(audit_file: Path | None) -> AuditOrigin | None:
    """What an audit.json says about the table that was audited; None where it does not."""
    try:
        return None if audit_file is None else msgspec.json.decode(audit_file.read_bytes(), type=AuditHeader).origin
    except (OSError, msgspec.DecodeError):
        return None
