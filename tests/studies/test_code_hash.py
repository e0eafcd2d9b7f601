"""The same run has the same key; anything that could change a number gives another one."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from pignn.studies import DatasetSpec, NoiseSpec, Protocol, StudyRow, code_hash, open_results
from pignn.studies.planning import plan_runs
from pignn.studies.run_spec import GraphSpec

from .conftest import make

CACHES = (
    code_hash.hash_module_and_imports,
    code_hash._hash_module_and_list_imports,
    code_hash._find_module_file_or_none,
    code_hash._is_submodule,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of somebody's method; call it with the texts of its modules for the version of ``own.method``."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))

    def version(**modules: str) -> str:
        for name, text in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        for cached in CACHES:
            cached.cache_clear()
        return code_hash.hash_module_and_imports("own.method")

    yield version
    for name in [name for name in sys.modules if name.split(".")[0] == "own"]:
        del sys.modules[name]
    for cached in CACHES:
        cached.cache_clear()


def test_comments_and_docstrings_do_not_change_the_hash_but_code_does(package):
    first = package(
        method='"""Doc."""\nfrom .part import f\n\ndef g():\n    return f()\n', part="def f():\n    return 1\n"
    )
    other = '"""Another."""\nfrom .part import f\n# why\ndef g():\n    """What."""\n    return  f()\n'
    assert package(method=other, part="def f():  # one\n    return 1\n") == first
    assert package(method=other, part="def f():\n    return 2\n") != first
    assert package(method=other.replace("f()", "f() + 1"), part="def f():\n    return 1\n") != first


def test_modules_that_are_not_imported_do_not_change_the_hash(package):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .far import x\nvalue = 1\n"
    first = package(method=text, far="x = 1\n", beside="y = 1\n")
    assert package(method=text, far="x = 2\n", beside="y = 2\n") == first


def test_modules_that_a_registry_names_change_the_hash(package):
    text = 'from pignn.core.registry import Entry\nPARTS = [Entry("part", "own.part:f")]\n'
    first = package(method=text, part="def f():\n    return 1\n")
    assert package(method=text, part="def f():\n    return 2\n") != first


@pytest.mark.parametrize(
    ("module", "neutral"),
    [
        ("pignn.report.table", True),
        ("pignn.graphs.importers.reading", True),
        ("pignn.core.errors", True),
        ("pignn.training.checkpoint", True),
        ("pignn.training.selection", False),
        ("pignn.graphs.sparse", False),
        ("pignn.graphs.edges", False),
        ("pignn.noise.model", False),
        ("elsewhere.report", False),
    ],
)
def test_packages_that_only_read_write_or_report_are_neutral(module, neutral):
    assert code_hash.has_no_effect_on_numbers(module) is neutral


def test_the_training_loop_is_hashed_and_the_progress_bar_is_not():
    modules = code_hash.find_imported_modules_recursively("pignn.methods.pi_gnn")
    assert {
        "pignn.training.loop",
        "pignn.pairs.loss",
        "pignn.backbones.gcn",
        "pignn.methods.core.network",
    } <= modules
    assert not modules & {
        "pignn.training.callbacks.progress",
        "pignn.methods.registry",
        "pignn.cli",
        "pignn.core.errors",
    }


def keys(study, folder) -> list[str]:
    with open_results(folder) as store:
        return [run.key for run in plan_runs(study, store)]


def test_keys_of_runs_are_reproducible_and_unique(tmp_path):
    study = make()
    first = keys(study, tmp_path / "a")
    assert len(set(first)) == len(study)
    assert keys(study, tmp_path / "a") == first  # from remembered fingerprints
    assert keys(study, tmp_path / "b") == first  # computed again


def test_a_default_that_is_spelled_out_is_the_same_run(tmp_path):
    row = make(rows=(StudyRow("PI-GNN", "pi-gnn"),))
    spelt = make(rows=(StudyRow("other name", "pi-gnn", {"warmup": 50, "target": "masked"}),))
    assert keys(row, tmp_path) == keys(spelt, tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": (StudyRow("PI-GNN", "pi-gnn", {"warmup": 2}),)},
        {"settings": {"epochs": 4}},
        {"protocol": Protocol.from_preset("honest")},
        {"protocol": Protocol.from_preset("paper", noisy=["train"])},
        {"protocol": Protocol.from_preset("paper", split="random", resplit=True)},
        {"protocol": Protocol.from_preset("paper", trials=2)},
        {"datasets": (DatasetSpec("csbm", {"num_nodes": 121}),)},
        {"noises": (NoiseSpec("pair", 0.2),)},
        {"seeds": (2,)},
    ],
)
def test_everything_that_could_change_a_number_changes_the_key(tmp_path, changes):
    base = make(rows=(StudyRow("PI-GNN", "pi-gnn"),), noises=(NoiseSpec("symmetric", 0.2),), seeds=(1,))
    assert keys(base, tmp_path) != keys(replace(base, **changes), tmp_path)


def test_names_and_metrics_are_not_part_of_a_run(tmp_path):
    base = make()
    other = replace(base, name="other", title="t", metric="macro_f1", note="n")
    assert keys(base, tmp_path) == keys(other, tmp_path)


def test_changed_recorded_labels_are_another_run(tmp_path):
    import numpy as np

    path = tmp_path / "labels.npz"
    study = make(noises=(NoiseSpec(str(path)),))
    np.savez(path, labels=np.zeros(120, dtype=int))
    first = keys(study, tmp_path)
    np.savez(path, labels=np.ones(120, dtype=int))
    assert keys(study, tmp_path) != first


def test_digests_of_labels_do_not_depend_on_whether_features_are_read():
    from pignn.studies import run_graphs

    spec = GraphSpec(dataset="csbm", options={"num_nodes": 120}, noise="flip", rate=0.4, seed=3)
    for changes in ({}, {"trusted": 2}, {"trusted": 2, "noise": "instance"}):
        spec = msgspec.structs.replace(spec, **changes)
        assert run_graphs.compute_labels_digest(spec) == run_graphs.load_noisy_graph_and_digest(spec)[1]


def test_published_numbers_ship_with_the_package():
    folder = Path(code_hash.__file__).parent / "published"
    assert {path.name for path in folder.iterdir()} == {"means.csv", "tests.csv"}
