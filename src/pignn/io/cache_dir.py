"""Where downloaded and processed data are kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path


def get_cache_dir() -> Path:
    """PIGNN_CACHE, else the user's cache folder of the system, such as ~/.cache/pignn."""
    if chosen := os.environ.get("PIGNN_CACHE"):
        return Path(chosen).expanduser()
    path = user_cache_path("pignn", appauthor=False)
    return path if path.is_absolute() else Path(tempfile.gettempdir(), "pignn")  # there is no home folder
