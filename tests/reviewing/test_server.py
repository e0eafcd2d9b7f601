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


def test_what_cannot_be_opened_is_told_before_torch_is_imported(folder, tmp_path, own_table):
    """Each takes half a second instead of several."""
    nodes, _ = own_table
    mistakes = {
        "is no project; name a graph": [tmp_path / "nothing"],
        "which project?": [],
        "is a project already": [folder, "--dataset", "digits"],
        "they are for --dataset": [tmp_path / "new", "--nodes", nodes, "--label", "label", "--noise", "pair"],
    }
    for message, words in mistakes.items():
        program = (
            "import sys, pignn.cli; code = pignn.cli.run(sys.argv[1:]); "
            "print(code, 'torch' in sys.modules, file=sys.stderr)"
        )
        command = [sys.executable, "-c", program, "review", *map(str, words), "--no-browser"]
        told = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, check=False).stderr
        assert message in told
        assert told.endswith("2 False\n"), told
    assert not (tmp_path / "new").exists()


@pytest.fixture
def own_table(tmp_path):
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    rows = "".join(f"{i},{i % 2}.{i},{'ab'[i % 2]}\n" for i in range(40))
    nodes.write_text(f"id,x,label\n{rows}", encoding="utf-8")
    edges.write_text("source,target\n0,0\n" + "".join(f"{i},{i + 2}\n" for i in range(38)), encoding="utf-8")
    return nodes, edges


def test_a_new_project_tells_how_its_files_were_read_in_a_folder_of_any_name(own_table, tmp_path):
    nodes, edges = own_table
    words = ["--nodes", nodes, "--edges", edges, "--label", "label", "--no-browser"]
    command = [sys.executable, "-m", "pignn", "review", str(tmp_path / "50 %41 #1?"), *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "listening on" in line:
                break
        process.terminate()
        told = process.stdout.read()
    assert "listening on" in "".join(lines)
    assert "dropped 1 self-loop" in told
