"""A worker process: reads a run per line from stdin, writes its result as a line to stdout, dies with its driver.

Started as ``python -m pignn.studies.worker`` with the number of threads in its environment.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

import msgspec

from .run_spec import RunSpec

PARENT_CHECK_SECONDS = 0.5
ABSENT = "absent"  # the version of a method that a worker does not know


class Greeting(msgspec.Struct):
    """What a driver says first: the methods of the sweep, as (kind of work, method), and the number of threads."""

    methods: list[tuple[str, str]]
    threads: int


def main() -> None:
    threading.Thread(target=_wait_until_driver_dies_and_exit, args=(os.getppid(),), daemon=True).start()
    # What a method prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(content: Any) -> None:
        answers.write(msgspec.json.encode(content) + b"\n")
        answers.flush()

    line = sys.stdin.readline()
    if not line:
        return
    greeting = msgspec.json.decode(line, type=Greeting)
    send(import_methods_and_list_versions(greeting.methods, greeting.threads))

    from .execute import execute_run_and_catch_errors

    for line in sys.stdin:
        result = execute_run_and_catch_errors(msgspec.json.decode(line, type=RunSpec))
        send(result)
        if result.died:
            return


def import_methods_and_list_versions(methods: list[tuple[str, str]], threads: int) -> list[str]:
    """Import everything at once, so that a change of the code during the sweep cannot slip in; returns its versions."""
    import torch

    from ..core.errors import PignnError
    from . import run_graphs  # noqa: F401
    from .code_hash import hash_code_of_method

    torch.set_num_threads(threads)
    versions = []
    for work, method in methods:
        try:
            versions.append(hash_code_of_method(work, method))
        except (PignnError, ImportError):
            versions.append(ABSENT)
    return versions


def _wait_until_driver_dies_and_exit(driver_process_id: int) -> None:
    while os.getppid() == driver_process_id:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
