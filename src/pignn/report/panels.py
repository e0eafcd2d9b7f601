"""What a picture of lines or bars shows, whether it is drawn by matplotlib or inside a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Series:
    """A line, or the bars of one color: a mean and a spread at each x. `marks` are reference values of a paper."""

    label: str
    x: Sequence[str]
    mean: Sequence[float | None]
    spread: Sequence[float] = ()
    marks: Sequence[float | None] = ()

    def list_means_with_spread(self) -> list[tuple[str, float, float]]:
        """(x, mean, spread) wherever there is a mean."""
        spread = list(self.spread) or [0.0] * len(self.x)
        points = zip(self.x, self.mean, spread, strict=True)
        return [(x, mean, std) for x, mean, std in points if mean is not None]

    def list_reference_points(self) -> list[tuple[str, float]]:
        """(x, value) of the reference values."""
        return [(x, value) for x, value in zip(self.x, self.marks, strict=False) if value is not None]


@dataclass(frozen=True)
class Panel:
    """One coordinate system."""

    title: str
    series: Sequence[Series]
    x_label: str = ""
    y_label: str = ""
    bars: bool = False

    def list_x_in_order_of_appearance(self) -> list[str]:
        """The x values of all series, in the order of appearance."""
        return list(dict.fromkeys(x for series in self.series for x in series.x))


def list_series_labels(panels: Sequence[Panel]) -> list[str]:
    """The labels of all series, once each."""
    return list(dict.fromkeys(series.label for panel in panels for series in panel.series))
