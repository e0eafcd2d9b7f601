"""The pages that pignn writes, live on the site: an audit and a training report of a small built-in graph."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COMMANDS = {
    "audit.html": "audit --dataset digits --noise pair --rate 0.2 --review 100 --out {out}",
    "report.html": "train --dataset digits --noise symmetric --rate 0.4 --method pi-gnn --report --out {out}",
}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, command in COMMANDS.items():
        files.append(File.generated(config, f"live/{name}", content=write_page(name, command)))
    return files


def write_page(name: str, command: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        words = command.format(out=Path(folder) / "run").split()
        env = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run([sys.executable, "-m", "pignn", *words], env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"pignn {command}\n{done.stdout}{done.stderr}")
        return (Path(folder) / "run" / name).read_text(encoding="utf-8")
