"""A worker process: takes a run a line from stdin, gives its numbers a line on stdout, dies with its driver.

Started as ``python -m pignn.studies.worker`` with the number of threads in its environment.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, TextIO


def main() -> None:
    driver = os.getppid()
    threading.Thread(target=_die_with, args=(driver,), daemon=True).start()
    # What a method prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    hello = json.loads(sys.stdin.readline() or "null")
    if hello is None:
        return
    _say(answers, {"code": prepare(hello["methods"], hello["threads"])})

    from .execute import OutOfMemory, execute

    for line in sys.stdin:
        try:
            _say(answers, execute(json.loads(line)))
        except OutOfMemory:
            _say(answers, {"error": "out of memory", "died": True})
            return


def prepare(methods: list[str], threads: int) -> dict[str, str]:
    """Import everything at once, so that a change of the code during the sweep cannot slip in, and say what it is."""
    import torch

    from .. import methods as package  # noqa: F401
    from ..core.errors import PignnError
    from ..methods.factory import method_class
    from . import run_graphs  # noqa: F401
    from .code_hash import method_code

    torch.set_num_threads(threads)
    found = {}
    for method in methods:
        try:
            method_class(method)
            found[method] = method_code(method)
        except (PignnError, ImportError):
            found[method] = "absent"
    return found


def _say(answers: TextIO, content: dict[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def _die_with(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
