"""When are two runs the same run? A version for the code behind a method.

It is a digest of the modules that can change the method's numbers: the one that defines it and everything that it
imports, from its own package and from pignn, except what only reads, writes or reports (see
:func:`has_no_effect_on_numbers`). Comments, docstrings and formatting do not count. So a change of one method leaves
the runs of the others valid, a change of the common loop leaves none, and nobody has to remember to raise a number.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

from ..io.digests import compute_digest_of_parts
from .work import WORKS

# Packages and modules that read, write or report. What readers of graphs do is in the digests of data and labels.
NEUTRAL_PACKAGES = (
    "_version",
    "core",
    "io",
    "graphs",
    "report",
    "runs",
    "review",
    "studies",
    "cli",
    "methods.registry",
)
NEUTRAL_ROLES = ("checkpoint", "data_hash", "interrupt", "progress")
# What methods compute with, although it lives among the graphs. The first prepares every graph, whoever imports it.
GRAPH_ARITHMETIC = ("pignn.graphs.edges", "pignn.graphs.sparse")


@cache
def hash_code_of_method(work_name: str, method: str) -> str:
    """The version of the code behind a method, see the module."""
    return hash_module_and_imports(get_method_class(work_name, method).__module__)


@cache
def get_method_class(work_name: str, method: str) -> type[Any]:
    """The class of a method. Looked up once: each time, all installed packages are searched."""
    return WORKS.get(work_name).get_settings_class(method)


@cache
def hash_module_and_imports(module: str) -> str:
    """Digest of a module and of what it imports, see the module's docstring."""
    digests = {name: _hash_module_and_list_imports(name)[0] for name in find_imported_modules_recursively(module)}
    return compute_digest_of_parts(*(f"{name} {digests[name]}" for name in sorted(digests)), length=16)


def find_imported_modules_recursively(module: str) -> set[str]:
    """The modules that can change the numbers of a module, itself included."""
    roots = {"pignn", module.partition(".")[0]}
    modules: set[str] = set()
    waiting = [module, GRAPH_ARITHMETIC[0]]
    while waiting:
        name = waiting.pop()
        if name not in modules:
            modules.add(name)
            imports = _hash_module_and_list_imports(name)[1]
            waiting += [
                other for other in imports if other.partition(".")[0] in roots and not has_no_effect_on_numbers(other)
            ]
    return modules


@cache
def hash_all_files_of_package(package: str) -> str:
    """Digest of all files of a package, whatever is in them: for what is cheap to compute again."""
    path = _find_module_file_or_none(package)
    assert path is not None
    files = [path]
    if path.name == "__init__.py":
        files = sorted(file for file in path.parent.rglob("*") if file.suffix in (".py", ".toml"))
    return compute_digest_of_parts(*(file.read_bytes() for file in files))


def has_no_effect_on_numbers(module: str) -> bool:
    """Whether a module of pignn changes no number of a method, or changes it through data and labels only."""
    if not module.startswith("pignn.") or module in GRAPH_ARITHMETIC:
        return False
    inside = module.removeprefix("pignn.")
    in_package = any(inside == name or inside.startswith(f"{name}.") for name in NEUTRAL_PACKAGES)
    return in_package or inside.rpartition(".")[2] in NEUTRAL_ROLES


@cache
def _hash_module_and_list_imports(module: str) -> tuple[str, list[str]]:
    """(digest of a module's statements, the modules it imports)."""
    path = _find_module_file_or_none(module)
    if path is None:  # compiled, or not a file: its package's version has to do
        return compute_digest_of_parts(module, _get_distribution_version_or_unknown(module)), []
    tree = _remove_docstrings_in_place(ast.parse(path.read_text(encoding="utf-8")))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    # A package that imports on first use lists its modules for type checkers only.
    nodes = _find_import_nodes(tree, path.name == "__init__.py")
    imports = [name for node in nodes for name in _list_imported_modules(node, package)]
    # A registry names its parts by "package.module:attribute".
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    imports += [text.partition(":")[0] for text in constants if isinstance(text, str) and _TARGET.fullmatch(text)]
    return compute_digest_of_parts(ast.unparse(tree)), imports


_TARGET = re.compile(r"[a-z_]\w*(\.\w+)+:\w+")


@cache
def _find_module_file_or_none(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    origin = spec.origin if spec else None
    return Path(origin) if origin and origin.endswith(".py") else None


def _get_distribution_version_or_unknown(module: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(module.partition(".")[0])
    except PackageNotFoundError:
        return "unknown"


def _find_import_nodes(tree: ast.AST, with_type_checking: bool) -> list[ast.stmt]:
    """All import statements; those for type checkers only where they list what a package imports on first use."""
    nodes: list[ast.stmt] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            nodes.append(node)
        elif not with_type_checking and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes += [other for part in node.orelse for other in _find_import_nodes(part, with_type_checking)]
        else:
            nodes += _find_import_nodes(node, with_type_checking)
    return nodes


def _list_imported_modules(node: ast.stmt, package: str) -> list[str]:
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
    submodules = [name for name in modules if _is_submodule(name)]
    return submodules if len(submodules) == len(modules) else [base, *submodules]


@cache
def _is_submodule(name: str) -> bool:
    parent = _find_module_file_or_none(name.rpartition(".")[0])
    if parent is None or parent.name != "__init__.py":
        return False
    last = name.rpartition(".")[2]
    return (parent.parent / f"{last}.py").is_file() or (parent.parent / last / "__init__.py").is_file()


def _remove_docstrings_in_place(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
                node.body = body[1:] or [ast.Pass()]
    return tree
