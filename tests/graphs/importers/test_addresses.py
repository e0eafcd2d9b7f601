"""Tables and graphs are read from addresses, once each, and what fails is one line."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest

import pignn
from pignn.core.errors import DataError
from pignn.graphs.tables.local_copies import copy_address_to_file


@pytest.fixture
def site(tmp_path):
    """The address of a folder with files, and the paths that were asked for."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    (tmp_path / "n.csv").write_text("id,size,topic\na,1.5,x\nb,2,y\nc,4,x\n")
    (tmp_path / "e.jsonl").write_text('{"source": "a", "target": "b"}\n{"source": "b", "target": "c"}\n')
    (tmp_path / "g.gml").write_text(
        'graph [ node [ id 0 label "a" y "u" ] node [ id 1 label "b" y "v" ] edge [ source 0 target 1 ] ]'
    )
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_tables_and_graphs_are_read_from_addresses_once(site):
    address, asked = site
    for nodes in (f"{address}/n.csv?version=2", Path(f"{address}/n.csv?version=2")):  # as the command line has it
        data = pignn.read_graph(nodes, f"{address}/e.jsonl", label="topic")
        assert list(data.node_id) == ["a", "b", "c"]
        assert data.edge_index.shape[1] == 4
    assert len(asked) == 2
    assert pignn.read_graph(f"{address}/g.gml", label="y").num_nodes == 2


def test_the_origin_names_the_address(site):
    address, _ = site
    data = pignn.read_graph(f"{address}/n.csv", f"{address}/e.jsonl", label="topic")
    assert data.origin.nodes == f"{address}/n.csv"


@pytest.mark.parametrize(("path", "reason"), [("none.csv", "404"), ("", "a web page, not a table")])
def test_what_is_not_there_is_one_line(site, path, reason):
    address, _ = site
    with pytest.raises(DataError, match=reason) as caught:
        pignn.read_graph(f"{address}/{path}", f"{address}/e.jsonl", label="topic")
    assert "\n" not in str(caught.value)


def test_s3_without_its_extension_says_what_to_do():
    with pytest.raises(DataError, match=r"s3://b/n\.csv.*httpfs"):
        copy_address_to_file("s3://b/n.csv")
