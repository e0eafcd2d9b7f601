"""Digests: short names for contents, equal where and only where the contents are."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np


def compute_digest_of_parts(*parts: Any, length: int = 32) -> str:
    """A hexadecimal SHA-256 of texts, bytes, arrays and tensors in this order, cut to `length` digits.

    Every part is preceded by its length (an array by its type and shape), so that no other parts give the same digest.
    """
    total = hashlib.sha256()
    for part in parts:
        content: Any = part.encode() if isinstance(part, str) else part
        if not isinstance(content, bytes):
            array = content.detach().cpu().numpy() if hasattr(content, "detach") else np.asarray(content)
            total.update(f"{array.dtype}{array.shape}".encode())
            content = np.ascontiguousarray(array).data
        total.update(memoryview(content).nbytes.to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()[:length]


def compute_file_digest(path: Path) -> str:
    """The SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
