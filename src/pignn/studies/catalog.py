"""The studies that come with the package, by name: one TOML file each in ``plans/``.

Those of the paper have its protocol. The others are benchmarks of this package: ``beyond`` and what follows it set all
methods beside the published PI-GNN, ``audit`` and what follows it measure how well wrong labels are found.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

from ..core.errors import build_unknown_name_error
from .plan_files import PlanReader
from .study import Study


@cache
def load_builtin_studies() -> dict[str, Study]:
    """All studies by name. Whether their methods and datasets exist is checked when one is planned."""
    studies = {}
    for file in sorted((resources.files(__package__) / "plans").iterdir(), key=lambda file: file.name):
        text = file.read_text(encoding="utf-8")
        study = PlanReader(Path(file.name), text, check_names=False).build_study(tomllib.loads(text))
        studies[study.name] = study
    return studies


def get_study(study_name: str) -> Study:
    """The study called ``study_name``."""
    studies = load_builtin_studies()
    if study_name not in studies:
        raise build_unknown_name_error("study", study_name, studies)
    return studies[study_name]
