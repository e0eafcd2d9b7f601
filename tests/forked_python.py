"""Run Python programs in forks of a process that has imported what they import: seconds cheaper than a new interpreter each.

The server itself does nothing but import and fork, so that its forks are as good as new.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SERVER = """
import atexit, json, os, runpy, signal, sys, traceback
from pathlib import Path

import matplotlib, networkx, pandas, scipy, sklearn.linear_model, torch_geometric
import pignn.auditing, pignn.cli, pignn.methods, pignn.runs, pignn.studies


def run(program, arguments):
    try:
        if program == "-m":
            sys.path.insert(0, os.getcwd())
            sys.argv = arguments
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(program).parent))
            sys.argv = [program, *arguments]
            runpy.run_path(program, run_name="__main__")
    except SystemExit as exit:
        if isinstance(exit.code, str):
            print(exit.code, file=sys.stderr)
        return exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.alarm(asked["seconds"])
        output = os.open(asked["output"], os.O_WRONLY)
        for number in (1, 2):
            os.dup2(output, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["env"])
        code = run(asked["words"][0], asked["words"][1:])
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def start_server() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_python(words: list[str], folder: Path, env: Mapping[str, str], seconds: int = 900) -> tuple[int, str]:
    """Exit code and output of ``python WORDS`` (a script, or ``-m`` and a module); it is killed after some seconds."""
    server = start_server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.NamedTemporaryFile(mode="r", encoding="utf-8") as output:
        asked = {"words": words, "folder": str(folder), "env": dict(env), "output": output.name, "seconds": seconds}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline()), output.read()
