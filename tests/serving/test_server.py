"""A real server: none of many requests is lost, it ends on a signal, and starts again after a kill."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import pignn
from pignn.core.errors import OutputError

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def load():
    path = Path(__file__).parents[2] / "benchmarks" / "serve.py"
    about = importlib.util.spec_from_file_location("benchmarks_serve", path)
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


def test_no_request_is_lost_and_a_killed_server_starts_again(load, tmp_path):
    model = load.train_model(tmp_path / "model")
    body = load.build_request(pignn.load_model(model).num_features_, 20)
    process, host, port = load.start_server(model)
    try:
        seconds, lost = load.send_requests(host, port, body, 40, 4)
        assert (len(seconds), lost) == (40, 0)
        with pytest.raises(OutputError, match="choose another --port"):
            pignn.serving.serve(model, port=port)
    finally:
        process.kill()
        process.wait(timeout=30)
    assert load.send_requests(host, port, body, 1, 1)[1] == 1, "nobody is there"
    process, host, again = load.start_server(model, "--port", str(port))
    try:
        assert (again, load.send_requests(host, again, body, 4, 2)[1]) == (port, 0)
    finally:
        process.terminate()
    assert process.wait(timeout=30) == 143
