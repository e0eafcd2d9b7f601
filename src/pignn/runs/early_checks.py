"""What can be told about a run without torch, whose import takes seconds: names, files, columns, ids, outputs.

Nothing is decided here that the run itself would decide otherwise: the same functions are asked, only earlier.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.errors import ConfigError, DataError, ModelFileError
from ..graphs.datasets.base import FileDataset
from ..graphs.datasets.registry import get_dataset, list_datasets
from ..graphs.tables import get_format_suffix, list_suffixes
from ..noise.registry import check_and_tell_if_noise_file, resolve_noise_name

NOT_OF_FILES = ("nodes", "edges", "split_seed", "split_index", "known")


def build_json_arguments_or_none(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of a run that say which graph it is about, for a file; None where one is an object in memory."""
    texts = {name: str(value) if isinstance(value, Path) else value for name, value in arguments.items()}
    if not all(isinstance(value, str | int | float | list | dict | None) for value in texts.values()):
        return None
    return {name: value for name, value in texts.items() if value not in (None, False, [], {}, "none", "default")}


def check_graph_arguments_can_be_read(arguments: Mapping[str, Any], *, class_names: list[str] | None = None) -> None:
    """Check the graph of a run as its options name it."""
    if arguments.get("graph") is not None:
        _check_dataset_and_options_exist(str(arguments["graph"]), arguments)
        return
    from ..graphs.importers import ImportSpec, check_graph_files_can_be_read
    from ..graphs.importers.sentences import check_sentence_model_folder_exists

    options = {name: value for name, value in arguments.items() if name not in NOT_OF_FILES}
    spec = ImportSpec.from_options(options | {"seed": arguments.get("split_seed", 0), "class_names": class_names})
    if spec.text_model is not None:
        check_sentence_model_folder_exists(spec.text_model)
    check_graph_files_can_be_read(arguments["nodes"], arguments.get("edges"), spec)


def check_graph_files_or_dataset_exist(arguments: Mapping[str, Any]) -> None:
    """Check the graph of a prediction, whose columns the model knows: its files, or the name of its dataset."""
    if arguments.get("graph") is not None:
        _check_dataset_and_options_exist(str(arguments["graph"]), arguments)
        return
    from ..graphs.tables.local_copies import find_web_address_or_none, is_pipe
    from ..graphs.tables.reader import list_table_files

    for name in ("nodes", "edges", "known"):
        path = arguments.get(name)
        if path is not None and find_web_address_or_none(path) is None and not is_pipe(Path(path)):
            list_table_files(Path(path))


def _check_dataset_and_options_exist(name: str, arguments: Mapping[str, Any]) -> None:
    if is_graph_store(name):
        return
    check_dataset_name_is_no_file(name)
    dataset = get_dataset(name)
    if isinstance(dataset, FileDataset):  # of a generated one, torch knows the options
        options = {"features": arguments.get("features"), **arguments.get("dataset_options", {})}
        dataset.check_options({key: value for key, value in options.items() if value is not None})
        dataset.find_location_or_empty(arguments.get("root"))  # which refuses a root that is no folder


def is_graph_store(name: str) -> bool:
    """Whether the name of a graph is the path of a graph store."""
    is_dataset = name.lower() in {info.name for info in list_datasets()}
    return bool(name) and not is_dataset and not Path(name).is_file() and (os.sep in name or Path(name).is_dir())


def check_dataset_name_is_no_file(name: str) -> None:
    """Refuse a file where the name of a dataset is expected."""
    if get_format_suffix(name) in list_suffixes():
        raise ConfigError(f"{name} is not the name of a dataset; read your own graph with nodes=, edges= and label=")


def check_noise_exists_and_rate_valid(noise: str, rate: float | None) -> None:
    """Check the label noise to add: a name that exists, or a file that does, and its rate."""
    from ..noise.kinds import parse_rate

    if noise.replace(".", "", 1).isdigit():
        raise ConfigError(
            f"noise '{noise}' is a rate and no kind of noise; give both: --noise symmetric --rate {noise}"
        )
    if check_and_tell_if_noise_file(noise):
        return
    if resolve_noise_name(noise) != "none":
        if rate is None:
            raise ConfigError(f"noise '{noise}' needs a rate between 0 and 1, such as --rate 0.4")
        parse_rate(rate)


def check_review_files_exist(audit: Path | None, decisions: Path | None) -> None:
    """Check that the folder of an audit and the file of decisions are there."""
    if audit is not None and not (audit / "audit.json").is_file():
        raise DataError(f"{audit} holds no audit (no audit.json); give the --out of a `pignn audit`")
    if decisions is not None and not decisions.is_file():
        raise DataError(f"{decisions}: no such file of decisions; check the path")


def check_folder_has_model(folder: Path) -> None:
    """Check that there is a model in a folder, or in the folder of a run."""
    if not folder.is_dir():
        raise ModelFileError(f"no model folder at {folder}; give the --out of a `pignn train`")
    if not (folder / "model.json").exists() and not (folder / "model" / "model.json").exists():
        raise ModelFileError(f"{folder} holds no model (no model.json); give the --out of a `pignn train`")
