"""TensorBoard and MLflow, as installed, hold what the history holds; a tool that is missing is told in one line."""

from __future__ import annotations

import sys

import pytest

import pignn
from pignn.core.errors import ConfigError
from pignn.training.callbacks import make_callback


def test_tensorboard_holds_the_history(noisy, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    logger = make_callback("tensorboard", folder=tmp_path / "logs")
    model = pignn.PIGNN(epochs=4).fit(noisy, callbacks=[logger])
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    scalars = [(event.step, event.value) for event in events.Scalars("train_agreement")]
    assert scalars == [(i, pytest.approx(row["train_agreement"])) for i, row in enumerate(model.history_)]
    assert events.Scalars("best_epoch")[0].value == model.best_epoch_
    assert "settings/text_summary" in events.Tags()["tensors"]


def test_mlflow_holds_settings_and_history(noisy, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "mlruns").as_uri()
    logger = make_callback("mlflow", experiment="papers", tracking_uri=uri, run_name="first")
    model = pignn.PIGNN(epochs=3, seed=5).fit(noisy, callbacks=[logger])
    assert mlflow.active_run() is None, "its own run is ended"
    client = mlflow.tracking.MlflowClient(uri)
    experiment = client.get_experiment_by_name("papers")
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.run_name, run.info.status) == ("first", "FINISHED")
    assert (run.data.params["method"], run.data.params["seed"]) == ("pi-gnn", "5")
    values = [point.value for point in client.get_metric_history(run.info.run_id, "train_agreement")]
    assert values == pytest.approx([row["train_agreement"] for row in model.history_])


@pytest.mark.parametrize("name", ["tensorboard", "mlflow", "wandb"])
def test_a_tool_that_is_not_installed_is_told_with_its_remedy(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=rf"pip install 'pignn\[{name}\]'"):
        make_callback(name)
