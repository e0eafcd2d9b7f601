"""The pages that pignn writes, live on the site: an audit and a training report of a small built-in graph."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

STUDY = (
    "low-noise --datasets csbm --noises symmetric:0.2,symmetric:0.4 --methods GCN,PI-GNN --seeds 0-2 "
    "--set epochs=60 --set warmup=20"
)
COMMANDS = {
    "audit.html": ["audit --dataset digits --noise pair --rate 0.2 --review 100 --out run"],
    "report.html": ["train --dataset digits --noise symmetric --rate 0.4 --method pi-gnn --report --out run"],
    "study.html": [
        f"study run {STUDY} --out run",
        f"study export {STUDY.replace(' ', ' run/study.html ', 1)} --out run",
    ],
}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, commands in COMMANDS.items():
        files.append(File.generated(config, f"live/{name}", content=write_page(name, tuple(commands))))
    return files


@cache
def write_page(name: str, commands: tuple[str, ...]) -> str:
    """Run the commands in an empty folder and return the page that they leave in ``run``."""
    env = {**os.environ, "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            words = [sys.executable, "-m", "pignn", *command.split()]
            done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"pignn {command}\n{done.stdout}{done.stderr}")
        return (Path(folder) / "run" / name).read_text(encoding="utf-8")
