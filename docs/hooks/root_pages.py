"""CONTRIBUTING and CHANGELOG stand at the root of the repository and are pages of the site too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    root = Path(config.config_file_path).parent
    for page, source in PAGES.items():
        text = (root / source).read_text(encoding="utf-8")
        content = re.sub(r"\]\(docs/", "](", text)  # links are relative to the repository there
        files.append(File.generated(config, page, content=content))
    return files
