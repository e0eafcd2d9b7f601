"""Results of runs in one line, as a terminal shows them."""

from __future__ import annotations

import pignn


def test_results_are_shown_in_one_line() -> None:
    graph = pignn.corrupt(pignn.load("csbm", num_nodes=200), "symmetric", 0.2, seed=0)
    audit, run = pignn.audit(graph, warn=False), pignn.train(graph, "prototypes")
    assert "Assessment(accuracy" in repr(run)
    starts = {"AuditRun(": audit, "Audit(": audit.audit, "TrainingRun(Prototypes(": run, "Assessment(": run.assessment}
    for start, each in starts.items():
        assert repr(each).startswith(start)
        assert len(repr(each)) < 300
