"""How long a mistake on the command line takes to be told, each in a fresh process.

python benchmarks/mistakes.py
"""

from __future__ import annotations

import argparse
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cli"))


def main(step: int = 1) -> None:
    from mistakes import list_mistakes, write_files

    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        times = []
        for text, _ in list_mistakes()[::step]:
            arguments = shlex.split(text.replace("{p}", folder))
            start, cpu = time.perf_counter(), _count_cpu_seconds()
            done = subprocess.run(
                [sys.executable, "-m", "pignn", *arguments], cwd=folder, capture_output=True, text=True
            )
            times.append((time.perf_counter() - start, _count_cpu_seconds() - cpu, text))
            assert done.returncode == 2, (text, done.stderr)
            assert "Traceback" not in done.stderr, done.stderr
    for noun, seconds in (("seconds", [each for each, _, _ in times]), ("CPU seconds", [each for _, each, _ in times])):
        slow = sum(each > 1 for each in seconds)
        print(f"{len(seconds)} mistakes: median {statistics.median(seconds):.2f} {noun}, above 1: {slow}")
    for each, cpu, text in sorted(times, reverse=True)[:5]:
        print(f"  {each:.2f} s, {cpu:.2f} s of CPU  {text.replace(folder, '.')}")


def _count_cpu_seconds() -> float:
    """Of all processes that have ended: other programs beside this one change it little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="measure every n-th mistake only")
    main(parser.parse_args().every)
