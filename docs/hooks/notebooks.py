"""Tutorials are Jupyter notebooks without outputs. The site executes them and shows code and outputs as a page.

The tests execute them with the same function. Neither needs a kernel, and the pages look like all others and
fetch nothing.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "agg")


def run_notebook(path: Path, folder: Path) -> list[tuple[dict[str, Any], str]]:
    """Execute the code cells in ``folder``, in one namespace; return each cell with its output as Markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", _pignn_warning())
        warnings.showwarning = _print_own_warning_as_note
        return [
            (cell, _run_cell(cell, f"{path.name}, cell {number}", namespace) if cell["cell_type"] == "code" else "")
            for number, cell in enumerate(cells, start=1)
        ]


def _pignn_warning() -> type[Warning]:
    from pignn import PignnWarning

    return PignnWarning


def _print_own_warning_as_note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"note: {message}")


def _run_cell(cell: dict[str, Any], title: str, namespace: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if source.startswith("%%writefile "):
        first, _, rest = source.partition("\n")
        Path(first.split()[1]).write_text(rest, encoding="utf-8")
        return ""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if source.startswith("!"):
            for line in source.replace("\\\n", " ").splitlines():
                _run_command_and_get_exit_code(line.removeprefix("!"))
            value = None
        else:
            value = _execute(source, title, namespace)
    return _output_block(printed.getvalue()) + _show_value(value)


def _run_command_and_get_exit_code(line: str) -> None:
    program, *arguments = shlex.split(line)
    if program != "pignn":
        raise ValueError(f"a tutorial may only call pignn, not {program}")
    env = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run([sys.executable, "-m", "pignn", *arguments], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{line}\n{done.stdout}{done.stderr}")
    print(done.stdout + done.stderr, end="")


def _execute(source: str, title: str, namespace: dict[str, Any]) -> Any:
    """Run all statements; return the value of the last one if it is an expression, as Jupyter does."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, title, "exec"), namespace)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), title, "eval"), namespace)
    return None if source.rstrip().endswith(";") else value


def _show_value(value: Any) -> str:
    if value is None:
        return ""
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=110, bbox_inches="tight")
        data = base64.b64encode(picture.getvalue()).decode()
        return f'\n<img class="output" alt="Figure made by the cell above" src="data:image/png;base64,{data}">\n'
    if hasattr(value, "_repr_html_") and (page := value._repr_html_()):
        body = re.sub(r"<style.*?</style>|\n\s*", "", page, flags=re.S)  # a blank line would end the HTML block
        return f'\n<div class="output">{body}</div>\n'
    return _output_block(repr(value))


def _output_block(text: str) -> str:
    return f'\n<pre class="output"><code>{html.escape(text.rstrip())}</code></pre>\n' if text.strip() else ""


def to_markdown(path: Path) -> str:
    """The executed notebook as a page."""
    with tempfile.TemporaryDirectory() as folder:
        cells = run_notebook(path, Path(folder))
    parts = [f"[Download this notebook]({path.name}){{ .md-button .download }}\n"]
    for cell, output in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            language = "bash" if source.startswith("!") else "python"
            parts.append(f"```{language}\n{source.removeprefix('!')}\n```\n{output}")
    title, _, rest = parts[1].partition("\n")  # the button goes below the title
    return "\n\n".join([title, parts[0], rest, *parts[2:]])


@cache
def render_page(path: Path, changed: float) -> str:
    """The page, made in a process of its own; `mkdocs serve` makes it again when the notebook has changed."""
    done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{path.name} cannot be executed\n{done.stderr}")
    return done.stdout


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    notebooks = [file for file in files if file.src_uri.endswith(".ipynb")]
    paths = [Path(file.abs_src_path) for file in notebooks]
    with ThreadPoolExecutor(max_workers=2) as pool:
        pages = list(pool.map(lambda path: render_page(path, path.stat().st_mtime), paths))
    for file, page in zip(notebooks, pages, strict=True):
        files.append(File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=page))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to a notebook lead to its page; the button that offers the notebook itself stays."""
    return re.sub(r"\.ipynb(#[\w-]+)?\)(?!\{)", r".md\1)", markdown)


if __name__ == "__main__":
    print(to_markdown(Path(sys.argv[1])))
