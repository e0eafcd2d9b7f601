"""When are two runs the same run? Names for what a run computes: its data, its noise, its settings, its code.

The version of a method's code is a digest of the modules that can change its numbers: the one that defines it and
everything that it imports, from its own package and from pignn, except what only reads, writes or reports.
Comments, docstrings and formatting do not count. So a change of one method leaves the runs of the others valid, a
change of the common loop leaves none, and nobody has to remember to raise a number.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

# What these do is either in the fingerprints of data and labels, or changes no number.
BESIDE = (
    "pignn._version",
    "pignn.cli",
    "pignn.core.errors",
    "pignn.graphs",
    "pignn.methods.core.fingerprint",
    "pignn.methods.factory",
    "pignn.methods.registry",
    "pignn.report",
    "pignn.runs",
    "pignn.core.validation",
    "pignn.core.versions",
    "pignn.studies",
    "pignn.training.checkpoint",
    "pignn.io.files",
    "pignn.training.interrupt",
    "pignn.training.callbacks.loggers",
    "pignn.training.callbacks.progress",
)
# What makes a graph's edges simple on their way to a method, whoever imports it.
ALWAYS = ("pignn.graphs.edges",)


def canonical(content: Any) -> str:
    """JSON in which equal content is equal text."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(*parts: str | bytes) -> str:
    total = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        total.update(len(content).to_bytes(8, "big") + content)
    return total.hexdigest()[:32]


@cache
def method_code(method: str) -> str:
    """The version of a method's code, see the module."""
    return code_version(method_kind(method).__module__)


@cache
def method_kind(method: str) -> type[Any]:
    """The class of a method. Looked up once: each time, all installed packages are searched."""
    from ..methods.factory import method_class

    return method_class(method)


@cache
def code_version(module: str) -> str:
    """Digest of a module and of what it imports, see the module's docstring."""
    roots = {"pignn", module.partition(".")[0]}
    found: dict[str, str] = {}
    waiting = [module, *ALWAYS]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name], imports = _source(name)
        waiting += [other for other in imports if other.partition(".")[0] in roots and not _beside(other)]
    return digest(*(f"{name} {found[name]}" for name in sorted(found)))[:16]


@cache
def package_version(package: str) -> str:
    """Digest of all files of a package, whatever is in them: for what is cheap to compute again."""
    path = _path(package)
    assert path is not None
    files = sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]
    return digest(*(file.read_bytes() for file in files))


def _beside(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in BESIDE)


@cache
def _source(module: str) -> tuple[str, list[str]]:
    """(digest of a module's statements, the modules it imports)."""
    path = _path(module)
    if path is None:  # compiled, or not a file: its package's version has to do
        return digest(module, _distribution_version(module)), []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    # A package that imports on first use lists its modules for type checkers only.
    nodes = _imports(tree, lists=path.name == "__init__.py")
    imports = [name for node in nodes for name in _imported(node, package)]
    return digest(ast.unparse(_without_docstrings(tree))), imports


@cache
def _path(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    origin = spec.origin if spec else None
    return Path(origin) if origin and origin.endswith(".py") else None


def _distribution_version(module: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(module.partition(".")[0])
    except PackageNotFoundError:
        return "unknown"


def _imports(tree: ast.AST, *, lists: bool) -> list[ast.stmt]:
    """All import statements; those for type checkers only where they list what a package imports on first use."""
    found: list[ast.stmt] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif not lists and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found += [other for part in node.orelse for other in _imports(part, lists=lists)]
        else:
            found += _imports(node, lists=lists)
    return found


def _imported(node: ast.stmt, package: str) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert isinstance(node, ast.ImportFrom)
    base = node.module or ""
    if node.level:
        parts = package.split(".")
        above = ".".join(parts[: len(parts) - node.level + 1])
        base = f"{above}.{base}" if base else above
    # A name may be a submodule; then it is that which counts, and not the package's list of names.
    modules = [f"{base}.{alias.name}" for alias in node.names]
    submodules = [name for name in modules if _is_module(name)]
    return submodules if len(submodules) == len(modules) else [base, *submodules]


@cache
def _is_module(name: str) -> bool:
    parent = _path(name.rpartition(".")[0])
    if parent is None or parent.name != "__init__.py":
        return False
    last = name.rpartition(".")[2]
    return (parent.parent / f"{last}.py").is_file() or (parent.parent / last / "__init__.py").is_file()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                node.body = body[1:] or [ast.Pass()]
    return tree
