"""The package imports on Windows and macOS."""

from __future__ import annotations

import ast
from pathlib import Path

import pignn

POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def list_top_level_imports(tree: ast.Module) -> set[str]:
    """The modules that importing this one imports, apart from those in functions and behind `try`."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names.add(str(statement.module).partition(".")[0])
    return names


def test_no_module_needs_what_only_posix_has_when_it_is_imported() -> None:
    paths = list(Path(pignn.__path__[0]).rglob("*.py"))
    assert len(paths) > 100
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not list_top_level_imports(tree) & POSIX_ONLY, path
