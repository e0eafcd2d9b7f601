"""Studies of the paper on Cora, with few epochs: each runs to its end and finds what it is compared with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pignn.graphs import is_available
from pignn.studies import collect_results, get_study, open_results, run_study, sweep
from pignn.studies.comparison import build_paper_comparison_table, compare_with_paper
from pignn.studies.significance import build_significance_table

from ..studies.conftest import InProcessPool

FEW_EPOCHS = {"epochs": 4, "warmup": 1}
# How many cells of one noise the paper printed, table 1 included. It has architectures as curves only.
CELLS = {
    "architectures": 0,
    "clean-pairs": 2,
    "low-rank": 3,
    "significance": 0,
    "subgraph-sampling": 2,
    "training-time": 2,
}


@pytest.mark.skipif(not is_available("cora"), reason="Cora is not here")
@pytest.mark.parametrize("name", CELLS)
def test_a_study_of_the_paper_runs_to_its_end_and_is_compared(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "open_local_or_ray_pool", lambda *_: InProcessPool())
    noise = "symmetric:0.8" if name == "significance" else "symmetric:0.4"
    rows = ["Rank 1", "Rank 50", "PI-GNN"] if name == "low-rank" else None  # higher ranks take long
    study = get_study(name).subset(datasets=["cora"], noises=[noise], seeds=[0, 1], methods=rows, settings=FEW_EPOCHS)
    assert study.protocol.draws == "released"
    summary = run_study(study, tmp_path)
    assert (summary.failed, summary.computed) == (0, len(study))
    with open_results(tmp_path) as store:
        results = collect_results(study, store)
        with_absent = collect_results(replace(get_study(name), seeds=(0, 1)), store)
    cells = compare_with_paper(results)
    assert len(cells) == CELLS[name]
    assert all(cell.seeds == 2 for cell in cells)
    if name == "significance":
        assert "paper's |t|" in build_significance_table(results).columns
    if name == "training-time":  # the other graphs are not always there
        absent = [str(dataset) for dataset in with_absent.missing_datasets]
        assert all(each in build_paper_comparison_table(with_absent).notes[-1] for each in absent)
