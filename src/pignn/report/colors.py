"""The colors of series, for pictures and pages. They differ in lightness as well as in hue."""

from __future__ import annotations

from collections.abc import Sequence

SERIES_COLORS = (
    "#1f5fa8", "#b5541c", "#2f7a2a", "#7b3fa0", "#555555", "#8a7000", "#0b7a7a", "#b03a6d", "#7a4f22", "#222222",
)  # fmt: skip
DARK_SERIES_COLORS = (
    "#79c0ff", "#ffab70", "#7ee2a0", "#d2a8ff", "#b8c0c8", "#e8c268", "#66d9d9", "#ff9bc8", "#d9a777", "#f0f0f0",
)  # fmt: skip


def format_css_colors(colors: Sequence[str]) -> str:
    """The colors as CSS variables `--s0`, `--s1`, ..."""
    return " ".join(f"--s{i}: {color};" for i, color in enumerate(colors))
