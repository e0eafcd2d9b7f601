"""The numbers of a run: metrics of its predictions, from the registry of metrics, and what was measured beside."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import build_unknown_name_error


@dataclass(frozen=True)
class Measure:
    """How tables write a number, and which direction is better. ``None`` means neither is."""

    name: str
    summary: str
    higher_is_better: bool | None = None
    mean_format: str = "{:.3f}"
    std_format: str = "{:.2f}"

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")


# What the runner and an audit measure themselves. Metrics of predictions are in the registry of metrics alone.
RUN_MEASURES = {
    measure.name: measure
    for measure in (
        Measure("accuracy_right_labels", "accuracy on training nodes whose given label is right", True),
        Measure("accuracy_wrong_labels", "accuracy on training nodes whose given label is wrong", True),
        Measure("best_epoch", "epoch whose network was kept", None, "{:.0f}", "{:.0f}"),
        Measure("corrected_accuracy", "share of labels that are right after suspects are corrected", True),
        Measure("estimated_noise", "noise rate that an audit estimates", None, "{:.3f}", "{:.3f}"),
        Measure("memorized_labels", "share of wrong training labels that are predicted", False),
        Measure("noise_error", "distance between estimated and true noise rate", False, "{:.3f}", "{:.3f}"),
        Measure("noise_dawid_skene", "noise rate by the Dawid–Skene model", None, "{:.3f}", "{:.3f}"),
        Measure("pair_noise", "share of pairs whose given labels agree or differ wrongly", None, "{:.3f}", "{:.3f}"),
        Measure("peak_mb", "peak memory of the worker in MB", False, "{:.0f}", "{:.0f}"),
        Measure("precision_at_k", "share of wrong labels among the k highest scores, k wrong in all", True),
        Measure("probable_corrected_accuracy", "the same for labels with p_wrong above 0.5", True),
        Measure("realized_noise", "share of given labels that are wrong", None, "{:.3f}", "{:.3f}"),
        Measure("seconds", "seconds of training", False, "{:.2f}", "{:.2f}"),
    )
}


def list_measure_names() -> list[str]:
    """The names that a study's ``metric`` may have."""
    from ..training.metrics import METRICS

    return sorted({*RUN_MEASURES, *METRICS.list_names()})


def get_measure(name: str) -> Measure:
    """The measure called ``name``, or an error that names the nearest one."""
    from ..training.metrics import METRICS, get_metric

    if name in RUN_MEASURES:
        return RUN_MEASURES[name]
    if name not in METRICS:
        raise build_unknown_name_error("metric", name, list_measure_names())
    metric = get_metric(name)
    return Measure(metric.name, metric.summary, metric.higher_is_better)
