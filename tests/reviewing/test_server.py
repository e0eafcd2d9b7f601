"""Real servers: on this machine only unless asked, one per project, and tokens for those who come from elsewhere."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import pignn
import pignn.cli
from pignn.core.errors import ConfigError, OutputError

pytest.importorskip("uvicorn")


def start(folder, *options):
    """The process, its port and the lines that it said first."""
    command = [sys.executable, "-m", "pignn", "review", str(folder), "--no-browser", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines = []
    for line in process.stderr:
        lines.append(line.strip())
        if "listening on" in line:
            return process, int(line.rpartition(":")[2]), lines
    raise AssertionError(lines)


def find_listening_addresses(port):
    """The addresses, as the kernel writes them, on which somebody listens on a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and int(row[1].partition(":")[2], 16) == port}


def test_one_server_per_project_on_this_machine_only(folder, capsys):
    process, port, _ = start(folder)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/session", timeout=60) as answer:
            assert answer.status == 200
        if Path("/proc/net/tcp").exists():
            assert find_listening_addresses(port) == {"0100007F"}
        with pytest.raises(OutputError, match="open in another"):
            pignn.review(folder, open_browser=False)
        assert pignn.cli.run(["review", str(folder), "--no-browser"]) == 2
        assert "open in another" in capsys.readouterr().err
    finally:
        process.terminate()
    assert process.wait(timeout=60) in (0, 143)


def test_others_get_tokens_that_are_shown_once(folder):
    with pytest.raises(ConfigError, match="--reviewer"):
        pignn.review(folder, host="0.0.0.0", open_browser=False)
    process, port, lines = start(folder, "--host", "0.0.0.0", "--reviewer", "ann", "--reviewer", "bob")
    try:
        tokens = [line.rpartition(" ")[2] for line in lines if line.startswith("token of")]
        assert len(set(tokens)) == 2
        assert any("HTTPS" in line for line in lines)
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/project", timeout=60)
        assert refusal.value.code == 401
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/session", headers={"Cookie": f"pignn-review={tokens[0]}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert b'"reviewer":"ann"' in answer.read()
    finally:
        process.terminate()
        process.wait(timeout=60)
    kept = b"".join(path.read_bytes() for path in folder.glob("decisions.sqlite*"))
    assert not any(token.encode() in kept for token in tokens)


def test_what_cannot_be_reviewed_is_refused_in_one_line(tmp_path):
    with pytest.raises(ConfigError, match="no project"):
        pignn.review(tmp_path / "nothing", open_browser=False)
    with pytest.raises(ConfigError, match="name its folder"):
        pignn.review(open_browser=False)
