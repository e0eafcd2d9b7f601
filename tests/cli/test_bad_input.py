"""Every mistake is one line that says what, where and what to do; exit code 2; and nothing is written."""

from __future__ import annotations

import json
import resource

import numpy as np
import pytest
import torch
from torch_geometric.data import HeteroData

import pignn
from pignn import graphs

NOISY = ("--noise", "symmetric", "--rate")


def listing(folder):
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# What is said, the flags after `pignn train --dataset csbm --data num_nodes=120`.
FLAGS = [
    # names, with the nearest one
    ("unknown dataset 'croa'; did you mean 'cora'?", "--dataset", "croa"),
    ("empty value", "--dataset", ""),
    ("'GCN' is method 'vanilla' with backbone 'gcn', and backbone is 'gat'", "--method", "GCN", "--backbone", "gat"),
    ("unknown method 'pi-gn'; did you mean 'pi-gnn'?", "--method", "pi-gn"),
    ("unknown method 'x'; known: apl, appnp, ", "--method", "x"),
    ("empty value", "--method", ""),
    ("unknown backbone 'gnc'; did you mean 'gcn'?", "--backbone", "gnc"),
    ("unknown backbone 'gatt'; did you mean 'gat'?", "--estimator", "gatt"),
    ("unknown noise kind 'symetric'; did you mean 'symmetric'?", "--noise", "symetric", "--rate", "0.4"),
    ("'pair' (i to i + 1) and 'flip'", "--noise", "asymmetric", "--rate", "0.4"),
    ("unknown selection 'noisyval'; did you mean 'noisy-val'?", "--selection", "noisyval"),
    ("unknown pair_labels 'estimate'; did you mean 'estimated'?", "--pair-labels", "estimate"),
    ("unknown target 'sof'; did you mean 'soft'?", "--target", "sof"),
    ("unknown split 'publc'", "--split", "publc"),
    ("unknown device 'gpu'", "--device", "gpu"),
    ("unknown init 'glorrot'; did you mean 'glorot'?", "--set", "init=glorrot"),
    ("unknown schedule 'pretrained'; did you mean 'pretrain'?", "--set", "schedule=pretrained"),
    ("unknown setting 'epoch'; did you mean 'epochs'?", "--set", "epoch=3"),
    ("unknown setting 'foo'; known: backbone, ", "--set", "foo=3"),
    ("unknown option 'node' for dataset 'csbm'; known: num_nodes", "--data", "node=3"),
    # numbers
    ("the noise rate must be between 0 and 1, not 1.5", *NOISY, "1.5"),
    ("the noise rate must be between 0 and 1, not -0.1", *NOISY, "-0.1"),
    ("the noise rate must be between 0 and 1, not nan", *NOISY, "nan"),
    ("'--rate'", *NOISY, "much"),
    ("noise 'symmetric' needs a rate", "--noise", "symmetric"),
    ("noise 'none' takes no rate", "--rate", "0.4"),
    ("'--epochs'", "--epochs", "abc"),
    ("'--epochs'", "--epochs", "1.5"),
    ("epochs must be an integer of at least 1, not 0", "--epochs", "0"),
    ("warmup must be an integer of at least -1, not -2", "--warmup", "-2"),
    ("'--seed'", "--seed", "abc"),
    ("seed must be an integer", "--seed", "-1"),
    ("checkpoint_every must be at least 1, not 0", "--checkpoint-every", "0"),
    ("checkpoint_minutes must be a number of at least 0", "--epochs", "3", "--checkpoint-minutes", "nan"),
    ("checkpoint_minutes must be a number of at least 0", "--epochs", "3", "--checkpoint-minutes", "-1"),
    ("num_neighbors must be a list, not 5", "--batch-size", "10", "--set", "num_neighbors=5"),
    ("hidden_channels must be below 2^31", "--set", f"hidden_channels={2**63}"),
    ("rank must be below 2^63", "--set", f"rank={2**63}"),
    ("csbm: num_nodes must be below 2^31", "--data", f"num_nodes={2**63}"),
    ("split_index 3 is out of range", "--split-index", "3"),
    ("csbm: num_nodes must be an integer of at least 1, not 'abc'", "--data", "num_nodes=abc"),
    ("csbm: homophily must be a number of at least 0 and at most 1, not 2", "--data", "homophily=2"),
    ("csbm: degree must be a number of at least 0 and at most 119", "--data", "degree=1000"),
    ("unknown option 'features' for dataset 'csbm'", "--features", "stand-in"),
    # files
    ("missing.npz: no such file", "--noise", "missing.npz"),
    ("missing.csv: no such file", "--noise", "missing.csv"),
    # flags that do not go together, or are no flags
    ("--set takes KEY=VALUE, not 'hidden_channels'", "--set", "hidden_channels"),
    ("--set takes KEY=VALUE, not '=3'", "--set", "=3"),
    ("--data takes KEY=VALUE, not 'nodes'", "--data", "nodes"),
    ("use --seed", "--set", "seed=3"),
    ("epochs is given twice: by --epochs and by --set", "--epochs", "3", "--set", "epochs=4"),
    ("pair_labels is given twice: by --pair-labels", "--pair-labels", "given", "--set", "pair-labels=self"),
    ("features are given twice", "--features", "3", "--data", "features=4"),
    ("use --split-seed", "--data", "split_seed=4"),
    ("use --root", "--data", "root=x"),
    ("use --dataset", "--data", "name=cora"),
    ("give one of them", "--resume", "--force"),
    ("--foo (Possible", "--foo"),
    ("(extra)", "extra"),
    ("'--rate' requires an argument", "--rate"),
]


@pytest.mark.parametrize(("said", "flags"), [(said, flags) for said, *flags in FLAGS])
def test_flags_of_train(train, tmp_path, monkeypatch, said, flags):
    monkeypatch.chdir(tmp_path)
    train("--out", tmp_path / "runs" / "new", *flags).fails(said)
    assert listing(tmp_path) == {}


WRONG = {
    "must be integers": (
        ("epochs", "hidden_channels", "num_layers", "rank", "warmup"),
        ("abc", "1.5", "[]", "{}", "true", "-7", "", "NaN"),
    ),
    "numbers": (("lr", "weight_decay", "beta"), ("abc", "-1", "NaN", "Infinity", "[1]", "{}", "true", "")),
    "shares": (("dropout",), ("abc", "-1", "1", "NaN", "[1]", "{}", "true")),
    "names": (
        ("init", "selection", "pair_labels", "target", "schedule", "pairs", "backbone", "estimator", "device"),
        ("foo", "3", "[]", "{}", "true", ""),
    ),
    "flags": (("directed",), ("abc", "3", "null", "[]")),
    "weights": (("class_weight",), ("foo", "3", "[1,2]", '["a","b","c","d"]', "{}", "[0,0,0,0]", "[1,1,1,NaN]")),
    "not nothing": (("epochs", "num_layers", "weight_decay", "beta", "init", "device", "warmup", "rank"), ("null",)),
}
VALUES = [(key, value) for keys, values in WRONG.values() for key in keys for value in values]
VALUES.remove(("pair_labels", "true"))  # the oracle's name


@pytest.mark.parametrize(("key", "value"), VALUES)
def test_values_of_settings(train, tmp_path, key, value):
    train("--out", tmp_path / "new", "--set", f"{key}={value}").fails()
    assert listing(tmp_path) == {}


SLIPS = [
    ("--set", "backbone=null"),
    ("--set", "device=meta"),
    ("--set", "device=mps"),
    ("--set", "lr=1e300"),
    ("--set", "weight_decay=1e300"),
    ("--seed", "99999999999999999999999"),
    ("--split-seed", "99999999999999999999999"),
    ("--data", "seed=abc"),
    ("--data", "seed=99999999999999999999999"),
]


@pytest.mark.parametrize("flags", SLIPS, ids=" ".join)
def test_values_that_only_torch_would_refuse(train, tmp_path, flags):
    train("--epochs", "3", "--out", tmp_path / "new", *flags).fails()
    assert listing(tmp_path) == {}


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("'--dataset' (see pignn train --help)", ["train"]),
        ("'--dataset' (see pignn predict --help)", ["predict", "somewhere"]),
        ("(see pignn predict --help)", ["predict"]),
        ("No such command 'trian'", ["trian"]),
        ("--foo (see pignn --help)", ["--foo"]),
        ("(see pignn methods --help)", ["methods", "extra"]),
        ("is not a folder", ["datasets", "--root", "/nonexistent"]),
        ("is not a folder", ["train", "--dataset", "cora", "--root", "/nonexistent", "--out", "new"]),
        ("'--epochs'", ["demo", "--epochs", "0"]),
        ("'--epochs'", ["demo", "--epochs", "many"]),
        ("seed", ["demo", "--seed", "-1"]),
        ("--resume needs --out", ["train", "--dataset", "csbm", "--resume"]),
    ],
)
def test_wrong_options_of_other_commands_are_refused(command, tmp_path, monkeypatch, said, arguments):
    monkeypatch.chdir(tmp_path)
    command(*arguments).fails(said)
    assert listing(tmp_path) == {}


# ---- files of noise ----


def recorded(**arrays):
    return lambda path: np.savez(path, **arrays)


def text(content):
    return lambda path: path.write_text(content)


NOISE_FILES = [
    ("empty.npz", lambda path: path.touch(), "empty.npz"),
    ("cut.npz", lambda path: path.write_bytes(b"PK\3\4 not a zip file"), "cut.npz"),
    ("other.npz", recorded(foo=np.zeros(120)), "other.npz holds no labels"),
    ("short.npz", recorded(labels=np.zeros(5, int)), "short.npz"),
    ("half.npz", recorded(labels=np.full(120, 0.5)), "must be integers"),
    ("nan.npz", recorded(labels=np.full(120, np.nan)), "must be integers"),
    ("words.npz", recorded(labels=np.array(["a"] * 120)), "must be integers"),
    ("wide.npz", recorded(labels=np.zeros((120, 3), int)), "[120, 3]"),
    ("range.npz", recorded(labels=np.full(120, 9)), "0 to 3"),
    ("one.npz", recorded(labels=np.zeros(120, int)), "at least two classes"),
    ("none.npz", recorded(labels=np.full(120, -1)), "no training node has a label"),
    ("order.npz", recorded(labels=np.zeros(120, int), clean_label=np.zeros(120, int)), "another order"),
    ("pickled.npz", recorded(labels=np.array([{}] * 120)), "pickled"),
    ("ragged.csv", text("1,0\n0"), "ragged.csv"),
    ("words.csv", text("a,b\nc,d"), "words.csv"),
    ("small.csv", text("1,0\n0,1"), "2 × 2"),
    ("sums.csv", text("0.5,0,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,1"), "sum to 1"),
    ("negative.csv", text("2,-1,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,1"), "between 0 and 1"),
    ("square.csv", text("1,0\n0,1\n0,1"), "square"),
    ("folder.npz", lambda path: path.mkdir(), "folder.npz"),
]


@pytest.mark.parametrize(("name", "make", "said"), NOISE_FILES, ids=[name for name, *_ in NOISE_FILES])
def test_damaged_files_of_noise_are_refused(train, tmp_path, name, make, said):
    make(tmp_path / name)
    before = listing(tmp_path)
    train("--noise", tmp_path / name, "--out", tmp_path / "new").fails(said)
    assert listing(tmp_path) == before


def test_a_number_for_class_names(train, tmp_path):
    recorded(labels=np.arange(120) % 4, class_names=np.array(3))(tmp_path / "names.npz")
    train("--noise", tmp_path / "names.npz", "--epochs", "2").fails("class_names")


def test_a_rate_and_a_file(train, tmp_path):
    text("1,0,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,1")(tmp_path / "matrix.csv")
    train("--noise", tmp_path / "matrix.csv", "--rate", "0.4").fails("rate")


# ---- graphs ----


def spoilt(**changes):
    def spoil(data):
        for key, change in changes.items():
            data[key] = change(data[key])
        return data

    return spoil


def with_value(position, value):
    def change(tensor):
        tensor = tensor.clone()
        tensor[position] = value
        return tensor

    return change


GRAPHS = {
    "empty mask": (spoilt(train_mask=torch.zeros_like), "train_mask is empty"),
    "NaN": (spoilt(x=with_value((7, 3), torch.nan)), "first at node 7, column 3"),
    "infinite": (spoilt(x=with_value((7, 3), torch.inf)), "first at node 7, column 3"),
    "edge too high": (spoilt(edge_index=with_value((1, 5), 120)), "edge_index is out of range"),
    "edge negative": (spoilt(edge_index=with_value((0, 5), -1)), "edge_index is out of range"),
    "short labels": (spoilt(y=lambda y: y[:-1]), "y has shape [119]"),
    "long mask": (spoilt(val_mask=lambda mask: torch.cat([mask, mask])), "val_mask has shape [240]"),
    "labels not integers": (spoilt(y=lambda y: y + 0.5), "labels not integers"),
    "one class": (spoilt(y=torch.zeros_like), "one class"),
    "multi-label": (spoilt(y=lambda y: torch.nn.functional.one_hot(y)), "multi-label"),
    "heterogeneous": (lambda data: HeteroData(), "HeteroData"),
    "no features": (spoilt(x=lambda x: None), "x is missing"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_that_cannot_be_used_are_refused(train, tmp_path, monkeypatch, name):
    spoil, said = GRAPHS[name]
    load = graphs.load
    monkeypatch.setattr(graphs, "load", lambda *a, **k: spoil(load(*a, **k)))
    train("--out", tmp_path / "new", *NOISY, "0").fails(said)
    assert listing(tmp_path) == {}


def test_a_class_without_training_nodes_is_a_note(train, monkeypatch, tmp_path):
    load = graphs.load
    monkeypatch.setattr(
        graphs, "load", lambda *a, **k: spoilt(class_names=lambda names: [*names, "rare"])(load(*a, **k))
    )
    result = train("--epochs", "3", "--out", tmp_path / "new", "--json")
    assert result.code == 0
    assert "no training node carries class 4 (rare)" in result.err
    assert all(line.startswith("note: ") for line in result.err.splitlines())
    assert json.loads(result.out)["epochs_done"] == 3


# ---- places that cannot be written ----


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere/run", "x" * 300])
@pytest.mark.parametrize("name", ["train", "demo"])
def test_a_folder_that_cannot_be_written(train, command, tmp_path, monkeypatch, name, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    result = train("--out", place) if name == "train" else command("demo", "--out", place)
    result.fails(place)
    assert listing(tmp_path) == {str(tmp_path / "file"): b"mine"}


def test_a_file_in_the_place_of_the_model_is_found_before_training(train, tmp_path):
    (tmp_path / "model").write_text("mine")
    train("--out", tmp_path).fails("model is a file where the model's folder would go")
    assert listing(tmp_path) == {str(tmp_path / "model"): b"mine"}


def test_a_mistake_found_late_leaves_no_folder(train, tmp_path):
    train("--out", tmp_path / "a" / "b" / "c", "--set", "class_weight=[1,2]").fails("class_weight")
    assert listing(tmp_path) == {}
    (tmp_path / "mine").mkdir()
    train("--out", tmp_path / "mine", "--set", "class_weight=[1,2]").fails("class_weight")
    assert listing(tmp_path) == {str(tmp_path / "mine"): None}


@pytest.fixture
def room():
    """Set the largest size a file may have: beyond it a write fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk(train, trained, tmp_path, room, monkeypatch):
    """Room for fewer and fewer of the files: each is whole or absent, and a run without all of them has no run.json."""
    monkeypatch.setattr(
        "pignn.methods.core.network.NetworkMethod.build_warmup_warning_text_or_empty", lambda _: ""
    )  # a note on the short run
    sizes = sorted({path.stat().st_size for path in trained.rglob("*") if path.is_file()}, reverse=True)
    for size in sizes:
        out = tmp_path / str(size)
        room(size - 1000 if size > 2000 else size // 2)
        result = train(*NOISY, "0.4", "--epochs", "20", "--out", out)
        room(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        result.fails(f"cannot write {out}")
        assert not (out / "run.json").exists()
        left = {path.name for path in out.rglob("*")} if out.exists() else set()
        assert not [name for name in left if name.startswith(".")]
        assert all(path.stat().st_size for path in out.rglob("*") if path.is_file())
        if "model" in left:
            pignn.load_model(out / "model")
        if "predictions.csv" in left:
            assert (out / "predictions.csv").read_bytes() == (trained / "predictions.csv").read_bytes()
        if "checkpoint.safetensors" in left:  # when there is room again, it goes on
            assert train(*NOISY, "0.4", "--epochs", "20", "--out", out, "--resume").code == 0
            weights = "model/model.safetensors"
            assert (out / weights).read_bytes() == (trained / weights).read_bytes()


def test_a_full_disk_keeps_the_run_that_was_there(train, tmp_path, room):
    assert train("--epochs", "12", "--out", tmp_path / "run").code == 0
    before = listing(tmp_path)
    room(100)
    result = train("--epochs", "12", "--seed", "1", "--force", "--out", tmp_path / "run")
    room(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    result.fails("cannot write")
    assert listing(tmp_path) == before


def test_a_half_replaced_run_is_no_run(train, tmp_path, room):
    out = tmp_path / "run"
    assert train("--epochs", "12", "--out", out).code == 0
    old = (out / "model" / "model.safetensors").read_bytes()
    room((out / "learning-curve.png").stat().st_size // 2)  # the model finds room, the picture does not
    small = ("--preset", "paper")  # of width 16, so that its checkpoint fits too
    result = train("--epochs", "12", "--warmup", "5", "--seed", "1", *small, "--force", "--out", out)
    room(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    result.fails("learning-curve.png")
    assert (out / "model" / "model.safetensors").read_bytes() != old
    assert not (out / "run.json").exists()


def test_a_full_disk_under_predictions(command, trained, tmp_path, room):
    room(1000)
    result = command("predict", trained, "--dataset", "csbm", "--data", "num_nodes=120", "--out", tmp_path / "a.csv")
    room(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    result.fails(f"cannot write {tmp_path / 'a.csv'}")
    assert listing(tmp_path) == {}


def test_a_full_disk_under_a_model(trained, tmp_path, room):
    model = pignn.load_model(trained / "model")
    model.save(tmp_path / "model")
    before = listing(tmp_path)
    room(100)
    for place in (tmp_path / "model", tmp_path / "new"):
        with pytest.raises(pignn.core.errors.OutputError):
            model.save(place)
    room(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    assert listing(tmp_path) == before


def test_out_of_memory(train, monkeypatch):
    def load(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000000000000 bytes")

    monkeypatch.setattr(graphs, "load", load)
    train().fails("out of memory")


def test_a_bug_shows_its_traceback(train, monkeypatch):
    monkeypatch.setattr(graphs, "load", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train()
