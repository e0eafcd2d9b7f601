"""Figures for files and notebooks: the numbers that they show, and the same bytes for the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from pignn.core.errors import ConfigError
from pignn.report import (
    Panel,
    Series,
    draw_panels,
    plot_class_quality,
    plot_learning_curves,
    plot_transition,
    render_figure,
)

HISTORY = [{"epoch": epoch, "train_agreement": epoch / 4, "val_accuracy": None} for epoch in range(4)]


def test_learning_curves_have_a_panel_per_known_accuracy_and_mark_the_selected_epoch() -> None:
    (axis,) = plot_learning_curves({"gcn": HISTORY}, {"gcn": 2}).axes
    curve, dot = axis.lines
    assert curve.get_ydata().tolist() == [0, 0.25, 0.5, 0.75]
    assert (dot.get_xdata().tolist(), dot.get_ydata().tolist()) == ([2], [0.5])
    assert [text.get_text() for text in axis.texts] == ["0.50"]


def test_a_transition_matrix_is_drawn_with_its_values_and_class_names() -> None:
    matrix = np.array([[0.75, 0.25], [0.0, 1.0]])
    axis = plot_transition(matrix, ["a", "b"]).axes[0]
    np.testing.assert_array_equal(axis.images[0].get_array(), matrix)
    assert [text.get_text() for text in axis.texts] == ["0.75", "0.25", "0.00", "1.00"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b"]


def test_class_quality_has_one_bar_per_class() -> None:
    (axis,) = plot_class_quality({"a": 0.5, "b": 0.75}).axes
    assert [bar.get_width() for bar in axis.patches] == [0.5, 0.75]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_same_numbers_give_the_same_bytes(form: str) -> None:
    panel = Panel("title", [Series("one", ["a", "b"], [0.5, None], [0.1, 0.0], [None, 0.3])])
    assert draw_panels([panel], form=form) == draw_panels([panel], form=form)
    assert render_figure(plot_transition(np.eye(2), ["a", "b"]), form) == render_figure(
        plot_transition(np.eye(2), ["a", "b"]), form
    )


def test_unknown_picture_formats_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown picture format 'gif'"):
        draw_panels([], form="gif")
