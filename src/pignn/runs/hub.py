"""Models on the Hugging Face Hub, with a card that says what is known about them and no more."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import ConfigError, ModelFileError, OutputError
from ..core.text import format_error_in_one_line
from ..graphs import load_feature_encoder
from ..io import files
from ..report.cards import build_hub_card
from ..report.training.summary import TrainingRecord
from .early_checks import check_folder_has_model
from .training_run import TrainingRun

MODEL_FILES = ("model.json", "model.safetensors", "features.json", "features.safetensors")
CARD_FILE = "README.md"
INSTALL = "models on the Hub need huggingface_hub: pip install 'pignn[hub]'"


class ModelHeader(msgspec.Struct):
    """What the card needs of model.json."""

    class_names: list[str]
    num_features: int


def push_to_hub(
    run: TrainingRun | str | Path,
    repo_id: str,
    *,
    private: bool | None = None,
    license: str | None = None,
    token: str | None = None,
) -> str:
    """Upload the model of a training run, with its card, and return the address.

    The files are those that :func:`write_hub_folder` writes. ``features.json`` has names of columns, categories and
    words of the tables that the model was trained on: look at it before you publish.

    Args:
        run: a training run, or its folder.
        repo_id: ``"you/name"``; created if it is not there.
        private: whether a new repository is private (default: as your account is set).
        license: of the model, such as ``"mit"``, for the card.
        token: of the Hub (default: that of ``hf auth login``).
    """
    hub = _import_hub()
    with tempfile.TemporaryDirectory() as parent, _hub_errors_context(f"cannot push to {repo_id}", OutputError):
        folder = write_hub_folder(run, Path(parent) / "model", repo_id=repo_id, license=license)
        api = hub.HfApi(token=token)
        address = api.create_repo(repo_id, private=private, exist_ok=True)
        api.upload_folder(repo_id=repo_id, folder_path=folder, commit_message="Upload a model of pignn")
    return str(address)


def from_hub(repo_id: str, *, revision: str | None = None, token: str | None = None) -> Path:
    """Download a model, and return its folder for :func:`pignn.predict`, :func:`pignn.load_model` and ``pignn serve``.

    Only the model and its card are fetched; nothing in them is run.
    """
    hub = _import_hub()
    with _hub_errors_context(f"cannot get {repo_id}", ModelFileError):
        patterns = [*MODEL_FILES, CARD_FILE]
        folder = Path(hub.snapshot_download(repo_id, revision=revision, token=token, allow_patterns=patterns))
    check_folder_has_model(folder)
    return folder


def write_hub_folder(
    run: TrainingRun | str | Path, folder: str | Path, *, repo_id: str = "you/name", license: str | None = None
) -> Path:
    """Write what :func:`push_to_hub` uploads, to look at it first: the model and README.md, the filled card."""
    if isinstance(run, TrainingRun):
        with tempfile.TemporaryDirectory() as parent:
            run.save(Path(parent) / "run")
            return write_hub_folder(Path(parent) / "run", folder, repo_id=repo_id, license=license)
    if not isinstance(run, str | Path):
        raise ConfigError(
            f"run must be what pignn.train returns, or its folder, not {type(run).__name__}: the card tells of the data"
        )
    source = Path(run)
    check_folder_has_model(source)
    record, header = _read_training_record(source), _read_model_header(source / "model" / "model.json")
    with files.new_folder_context(Path(folder)) as new:
        for name in MODEL_FILES:
            if (source / "model" / name).exists():
                shutil.copyfile(source / "model" / name, new / name)
        _name_sentence_model_without_its_path(new)
        has_columns = (new / "features.json").exists()
        card = build_hub_card(
            record, header.class_names, header.num_features, repo_id, license, has_columns=has_columns
        )
        files.write_bytes_atomically(new / CARD_FILE, card.encode())
    return Path(folder)


def _name_sentence_model_without_its_path(folder: Path) -> None:
    """What others need is its name; the folders of this machine are nobody's business."""
    encoder = load_feature_encoder(folder)
    if encoder is not None and encoder.sentence_model_folder is not None:
        encoder.set_sentence_model_folder(Path(encoder.sentence_model_folder).name)
        encoder.save(folder)


def _read_training_record(folder: Path) -> TrainingRecord:
    try:
        return msgspec.json.decode((folder / "run.json").read_bytes(), type=TrainingRecord)
    except FileNotFoundError:
        raise ModelFileError(
            f"{folder} has no run.json, from which the card is made; give the folder of a run"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise ModelFileError(f"{folder / 'run.json'} is damaged: {format_error_in_one_line(error)}") from None


def _read_model_header(path: Path) -> ModelHeader:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ModelHeader)
    except (OSError, msgspec.DecodeError) as error:
        raise ModelFileError(f"{path} is damaged: {format_error_in_one_line(error)}") from None


def _import_hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise ConfigError(INSTALL) from None
    return huggingface_hub


@contextlib.contextmanager
def _hub_errors_context(title: str, kind: type[OutputError | ModelFileError]) -> Iterator[None]:
    """What the Hub or the way to it refuses, in one line."""
    from huggingface_hub.errors import HFValidationError, HTTPError

    try:
        yield
    except (HTTPError, HFValidationError, OSError) as error:
        raise kind(f"{title}: {format_error_in_one_line(error)}; check the name, your token and the network") from None
