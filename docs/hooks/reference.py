"""Reference pages that are made from the code: commands, settings and the API of every package."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def on_config(config: Any) -> Any:
    """Put one page per package under Reference > API."""
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    pages = [{f"pignn.{name}": f"reference/api/{name}.md"} for name in list_packages()]
    reference.append({"API": [{"pignn": "reference/api/pignn.md"}, *pages]})
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    pages = {"cli": write_cli_page(), "settings": write_settings_page(), "registries": write_registries_page()}
    pages["api/pignn"] = write_api_page("pignn", [])
    for name in list_packages():
        pages[f"api/{name}"] = write_api_page(f"pignn.{name}", list(list_modules(f"pignn.{name}")))
    for name, content in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Show what docstrings write as :func:`~package.name` as plain code."""
    return re.sub(r":(?:func|class|meth|mod|attr|data):<code>~?(?:[\w.]+\.)?(\w+)</code>", r"<code>\1</code>", html)


# --- commands -------------------------------------------------------------------------------------------------------


def write_cli_page() -> str:
    import typer

    from pignn.cli.app import app

    command = typer.main.get_command(app)
    parts = [
        "# Command line",
        "Every command answers `--help`, which prints this text. A user's mistake is one line on stderr and exit "
        "code 2. Ctrl-C is exit code 130.",
    ]
    parts += _describe_command(command, "pignn")
    return "\n\n".join(parts)


def _describe_command(command: Any, path: str) -> Iterator[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    children = getattr(command, "commands", {})
    if not children:
        yield f"## {path}"
    if command.help and path != "pignn":
        yield from _format_help(command.help)
    if not children:
        yield f"<pre><code>{_escape(' '.join([path, *command.collect_usage_pieces(context)]))}</code></pre>"
    records = [(param, param.get_help_record(context)) for param in command.params]
    panels: dict[str, list[str]] = {}
    for param, record in records:
        if record and "--help" not in record[0]:
            panel = getattr(param, "rich_help_panel", None) or ""
            panels.setdefault(panel, []).append(f"| {_code(record[0])} | {_mark_options(_escape(record[1]))} |")
    if path != "pignn":
        for panel, rows in panels.items():
            yield (f"**{panel}**\n\n" if panel else "") + "| option | meaning |\n|---|---|\n" + "\n".join(rows)
    for name, child in children.items():
        yield from _describe_command(child, f"{path} {name}")


def _format_help(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those that typer must not wrap begin with a backspace and are examples."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield "```bash\n" + inspect.cleandoc(paragraph.removeprefix("\b")) + "\n```"
        else:
            yield _mark_options(paragraph)


def _mark_options(text: str) -> str:
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*)(?!`)", r"`\1`", text)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _escape(text: Any) -> str:
    return " ".join(str(text or "").split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


# --- settings -------------------------------------------------------------------------------------------------------


def write_settings_page() -> str:
    """A table per method; what several methods share is shown once."""
    from pignn.core.settings import list_settings
    from pignn.methods.registry import METHODS

    classes = {entry.name: METHODS.get(entry.name) for entry in METHODS.list_entries()}
    networks = [name for name, method in classes.items() if any(s.name == "epochs" for s in list_settings(method))]
    common = _shared_settings([list_settings(classes[name]) for name in networks])
    parts = [
        "# Settings of every method",
        'A setting is an argument in Python (`pignn.make("gce", q=0.7)`), `--set q=0.7` on the command line and a key '
        "under `settings` in a study. Settings of PI-GNN are options of `pignn train` too: `--hidden-channels 64`. "
        "`None` means that the method decides.",
        "## Settings that all methods with a network share",
        f"These methods have them: {', '.join(f'`{name}`' for name in networks)}.",
        _settings_table(common),
    ]
    for entry in METHODS.list_entries():
        settings = list_settings(classes[entry.name])
        own = [s for s in settings if s not in common] if entry.name in networks else settings
        note = "And the settings that all methods with a network share." if entry.name in networks else ""
        parts += [f"## {entry.name}", f"{entry.summary}.", _settings_table(own) if own else "", note]
    return "\n\n".join(part for part in parts if part)


def _shared_settings(listed: list[list[Any]]) -> list[Any]:
    return [setting for setting in listed[0] if all(setting in settings for settings in listed[1:])] if listed else []


def _settings_table(settings: list[Any]) -> str:
    rows = [
        f"| `{s.name}` | `{s.default!r}` | {_escape(s.constraint.describe())} | {_escape(s.help)} "
        f"| {'' if s.search is None else _escape(_describe_search(s.search))} |"
        for s in settings
    ]
    return "| setting | default | accepts | meaning | `tune` tries |\n|---|---|---|---|---|\n" + "\n".join(rows)


def _describe_search(search: Any) -> str:
    if isinstance(search, tuple):
        return ", ".join(map(str, search))
    return f"{search.low:g} to {search.high:g}{', by its logarithm' if search.log else ''}"


# --- registries -----------------------------------------------------------------------------------------------------


def write_registries_page() -> str:
    """Every kind of part that has names, with its entry-point group."""
    parts = [
        "# Names that pignn knows",
        "Methods, datasets, noise kinds and other parts are found by name. Another package adds one through the "
        "entry-point group shown, see [Extend pignn](../howto/extend.md).",
    ]
    for registry in sorted(_find_registries(), key=lambda registry: registry.group):
        rows = [f"| `{entry.name}` | {_escape(entry.summary)} |" for entry in registry.list_entries()]
        parts += [f"## {registry.kind}", f"Entry-point group: `{registry.group}`."]
        parts.append("| name | what it is |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _find_registries() -> list[Any]:
    from pignn.core.registry import Registry

    found: dict[str, Any] = {}
    for name in list_packages():
        for module in list_modules(f"pignn.{name}"):
            for value in vars(importlib.import_module(module)).values():
                if isinstance(value, Registry):
                    found[value.group] = value
    return list(found.values())


# --- API ------------------------------------------------------------------------------------------------------------


def list_packages() -> list[str]:
    import pignn

    return sorted(module.name for module in pkgutil.iter_modules(pignn.__path__) if module.ispkg)


def list_modules(package: str) -> Iterator[str]:
    """The package and all public modules below it."""
    module = importlib.import_module(package)
    yield package
    for child in pkgutil.iter_modules(module.__path__):
        name = f"{package}.{child.name}"
        if child.name.startswith("_") or child.name == "worker":
            continue
        if child.ispkg:
            yield from list_modules(name)
        else:
            yield name


def write_api_page(package: str, modules: list[str]) -> str:
    module = importlib.import_module(package)
    summary = inspect.cleandoc(module.__doc__ or "")
    parts = [f"# {package}", summary]
    names = [name for name in getattr(module, "__all__", []) if not name.startswith("__")]
    if names:
        rows = "\n".join(f"| {_link_name(module, name)} | {_summarize(getattr(module, name))} |" for name in names)
        parts += ["| name | what it is |\n|---|---|\n" + rows]
    parts += [_describe_module(name) for name in modules]
    return "\n\n".join(part for part in parts if part)


def _describe_module(name: str) -> str:
    """What mkdocstrings renders. A package's own file shows what it defines, not what it imports for others."""
    module = importlib.import_module(name)
    if not hasattr(module, "__path__"):
        return f"::: {name}\n    options: {{heading_level: 2}}"
    own = _list_definitions(module)
    return f"::: {name}\n    options: {{heading_level: 2, members: [{', '.join(own)}]}}" if own else ""


def _list_definitions(module: ModuleType) -> list[str]:
    names: list[str] = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _link_name(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if inspect.ismodule(value):
        return f"[`{name}`]({value.__name__.removeprefix('pignn.')}.md)"
    home = getattr(value, "__module__", None)
    if home and home.startswith("pignn") and hasattr(value, "__qualname__") and _summarize(value):
        return f"[`{name}`][{home}.{value.__qualname__}]"
    return f"`{name}`"


def _summarize(value: Any) -> str:
    """The first sentence of a docstring; constants have none of their own."""
    from pignn.core.registry import Registry

    if isinstance(value, Registry):
        return f"names of every {value.kind}, see [Names](../registries.md)"
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        return ""
    text = inspect.getdoc(value) or ""
    first = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text.split("\n\n")[0])
    return _escape(first).replace("[", "\\[") if not first.startswith(value.__name__ + "(") else ""
