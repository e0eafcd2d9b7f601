"""Embeddings of texts by a sentence model in a folder: here a tiny one that stands for the real library."""

from __future__ import annotations

import sys
import types
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pignn
from pignn.core.errors import PignnError
from pignn.graphs.importers.sentences import load_sentence_model

NODES = pd.DataFrame(
    {
        "id": range(6),
        "note": ["ball goal team", "vote law party", None, "cell star data lab", "team goal ball", "law of the party"],
        "y": ["a", "b", "a", "b", "a", "b"],
    }
)
EDGES = pd.DataFrame({"source": [0, 1, 2, 3, 4], "target": [1, 2, 3, 4, 5]})
OPTIONS = {"label": "y", "features": "note:text"}


class FakeTransformer:
    """Counts words by hash; a folder without config.json is refused."""

    def __init__(self, folder, *, device, local_files_only, trust_remote_code):
        assert (device, local_files_only, trust_remote_code) == ("cpu", True, False)
        if not (Path(folder) / "config.json").exists():
            raise OSError("no config.json")

    def encode(self, texts, *, normalize_embeddings=False, **_):
        counts = np.zeros((len(texts), 5), np.float32)
        for row, text in zip(counts, texts, strict=True):
            for word in text.split():
                row[zlib.crc32(word.encode()) % 5] += 1
        return counts / np.linalg.norm(counts, axis=1, keepdims=True) if normalize_embeddings else counts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    load_sentence_model.cache_clear()
    path = tmp_path / "mini"
    path.mkdir()
    (path / "config.json").write_text("{}")
    return path


def test_texts_become_embeddings_and_missing_ones_zeros(folder):
    data = pignn.read_graph(NODES, EDGES, text_model=folder, **OPTIONS)
    assert data.x.shape == (6, 5)
    np.testing.assert_allclose(data.x.norm(dim=1).numpy(), [1, 1, 0, 1, 1, 1], rtol=1e-5)
    assert (data.x[0] == data.x[4]).all()
    assert "sentence embeddings of 5 numbers by mini" in str(pignn.graphs.summarize_import(data))


def test_a_trained_model_makes_them_again_also_from_another_folder(folder, tmp_path):
    data = pignn.read_graph(NODES, EDGES, text_model=folder, **OPTIONS)
    (tmp_path / "model").mkdir()
    data.encoder.save(tmp_path / "model")
    encoder = pignn.graphs.load_feature_encoder(tmp_path / "model")
    again = pignn.read_graph(NODES, EDGES, encoder=encoder, class_names=data.class_names)
    assert (again.x == data.x).all()
    folder.rename(tmp_path / "moved")
    load_sentence_model.cache_clear()
    with pytest.raises(PignnError, match=r"no folder of a sentence model.*text_model="):
        pignn.read_graph(NODES, EDGES, encoder=encoder, class_names=data.class_names)
    moved = pignn.read_graph(NODES, EDGES, encoder=encoder, class_names=data.class_names, text_model=tmp_path / "moved")
    assert (moved.x == data.x).all()


def test_what_cannot_be_is_said(folder, tmp_path, monkeypatch):
    (folder / "config.json").unlink()
    with pytest.raises(PignnError, match=r"no folder of a sentence-transformers model: OSError: no config\.json"):
        pignn.read_graph(NODES, EDGES, text_model=folder, **OPTIONS)
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(PignnError, match=r"pytorch_model\.bin is pickled"):
        pignn.read_graph(NODES, EDGES, text_model=folder, **OPTIONS)
    (folder / "pytorch_model.bin").unlink()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(PignnError, match=r"pip install 'pignn\[texts\]'"):
        pignn.read_graph(NODES, EDGES, text_model=folder, **OPTIONS)


def test_the_hub_learns_the_name_of_the_sentence_model_and_not_where_it_lies(folder, tmp_path):
    run = tmp_path / "run"
    pignn.train(nodes=NODES, edges=EDGES, text_model=folder, method="low-density", assess=False, out=run, **OPTIONS)
    hub = pignn.runs.write_hub_folder(run, tmp_path / "hub")
    assert all(str(tmp_path).encode() not in file.read_bytes() for file in hub.iterdir())
    encoder = pignn.graphs.load_feature_encoder(hub)
    assert encoder.sentence_model_folder == "mini"
    options = {"encoder": encoder, "class_names": ["a", "b"], "text_model": folder}
    again = pignn.read_graph(NODES, EDGES, **options)
    np.testing.assert_array_equal(again.x, pignn.read_graph(NODES, EDGES, text_model=folder, **OPTIONS).x)
