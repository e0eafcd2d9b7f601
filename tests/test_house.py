"""Rules of the house that no linter knows: small functions and files, no borrowed private names, no import cycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src"
FILES = sorted((ROOT / "pignn").rglob("*.py"))
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of everything a file imports from pignn, also inside functions and for types only."""
    package = module_name(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module.split(".")[0] == "pignn":
                yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("pignn."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_and_files_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES} == {}
    assert text.count("\n") <= MAX_FILE_LINES


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_name_is_imported_from_another_package(path: Path) -> None:
    own = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    private = [
        f"{module}.{name}"
        for module, name in imports(path)
        if any(part.startswith("_") for part in f"{module}.{name}".split(".")) and "._version" not in f"{module}.{name}"
        if module != own and module.rpartition(".")[0] != own
    ]
    assert private == []


def test_no_module_imports_itself_in_a_circle_not_even_lazily_or_for_types() -> None:
    graph = {
        name: {
            target
            for module, imported in imports(path)
            for target in [f"{module}.{imported}" if f"{module}.{imported}" in MODULES else module]
            if target in MODULES and target != name and MODULES[target].name != "__init__.py"
        }
        for name, path in MODULES.items()
        if path.name != "__init__.py"  # a package re-exports what its modules define
    }
    assert find_cycle(graph) == []


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    finished: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for target in sorted(graph.get(name, ())):
            if cycle := visit(target, [*path, name]):
                return cycle
        finished.add(name)
        return []

    for name in graph:
        if cycle := visit(name, []):
            return cycle
    return []


def test_a_cycle_would_be_seen() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
