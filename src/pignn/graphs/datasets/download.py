"""Downloads, for what PyG's loaders do not download themselves."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ...core.text import one_line_text
from ...io import safe_readers
from .catalog import RAW

_CHAMELEON = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"


class Unreachable(Exception):
    """A download failed; the message is one line that says why."""


def chameleon(key: str, folder: Path) -> Path:
    """The .npz file of `key`; the folder it is in."""
    from torch_geometric.data import download_url

    (file,) = RAW[key].files
    try:
        download_url(f"{_CHAMELEON}/{file}", str(folder))
        safe_readers.read_npz(folder / file, "node_features", label=f"the downloaded {file}")
    except Exception as error:
        raise Unreachable(one_line_text(error)) from None
    return folder


def ogb(name: str, folder: Path) -> Path:
    """OGB's archive of raw files, fetched by the `ogb` package; the folder they are in."""
    try:
        from ogb.utils.url import download_url, extract_zip
    except ImportError:
        raise Unreachable("the package ogb is not installed; pip install 'pignn[ogb]'") from None
    import pandas as pd

    try:
        with resources.as_file(resources.files("ogb") / "nodeproppred" / "master.csv") as path:
            about = pd.read_csv(path, index_col=0)[name]
        extract_zip(download_url(about["url"], str(folder)), str(folder))
        source = folder / str(about["download_name"])
        missing = [file for file in RAW[name].files if not (source / file).is_file()]
    except Exception as error:
        raise Unreachable(one_line_text(error)) from None
    if missing:
        raise Unreachable(f"the archive lacks {', '.join(missing)}")
    return source
