"""How long a mistake on the command line takes to be told, each in a fresh process.

python benchmarks/mistakes.py
"""

from __future__ import annotations

import argparse
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
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "pignn", *arguments], cwd=folder, capture_output=True, text=True
            )
            times.append((time.perf_counter() - start, text))
            assert done.returncode == 2, (text, done.stderr)
            assert "Traceback" not in done.stderr, done.stderr
    seconds = [each for each, _ in times]
    slow = sum(each > 1 for each in seconds)
    print(f"{len(seconds)} mistakes: median {statistics.median(seconds):.2f} s, above 1 s: {slow}")
    for each, text in sorted(times, reverse=True)[:5]:
        print(f"  {each:.2f} s  {text.replace(folder, '.')}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="measure every n-th mistake only")
    main(parser.parse_args().every)
