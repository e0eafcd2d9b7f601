"""The Dockerfile names what is there: files that reach the builder, extras, and the command."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_dockerfile_copies_what_is_there_and_installs_extras_that_exist() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] == "!"}
    copied = {name for line in re.findall(r"^COPY (.*) \S+$", text, re.M) for name in line.split()}
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)
    assert {project["readme"], *project["license-files"], "constraints.txt"} <= copied
    extras = re.search(r'EXTRAS="(.*)"', text)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    assert 'ENTRYPOINT ["pignn"]' in text
    assert "pignn" in project["scripts"]
    assert re.search(r"^USER (?!root)", text, re.M)
