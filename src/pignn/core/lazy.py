"""Names of a package that are imported on first use, so that listing things does not wait for torch."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def make_lazy_getattr_and_dir(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, called with its ``__name__`` and ``__file__``.

    The names are those that ``if TYPE_CHECKING:`` imports in that file, so type checkers and we read the same lines.
    """
    modules = _read_type_checking_imports(file)

    def get_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module = importlib.import_module(f".{modules[name] or name}", package)
        value = getattr(module, name) if modules[name] else module
        setattr(sys.modules[package], name, value)
        return value

    return get_attribute, lambda: sorted(modules)


def _read_type_checking_imports(file: str) -> dict[str, str]:
    """The module, relative to the package, of every name that ``if TYPE_CHECKING:`` imports; "" for a module itself."""
    statements = [
        statement
        for block in ast.parse(Path(file).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.level == 1
    ]
    return {name.name: statement.module or "" for statement in statements for name in statement.names}
