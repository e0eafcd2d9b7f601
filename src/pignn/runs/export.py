"""A trained network as one file that torch runs without this package."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from .. import graphs
from .._version import __version__
from ..backbones import GAT
from ..backbones.exportable import ExportableNetwork
from ..core.errors import ConfigError
from ..core.text import format_error_in_one_line
from ..io import files
from ..methods import Method, load_model
from ..methods.core.network import NetworkMethod
from .run_folder import check_outputs_may_be_written

SUFFIX = ".pt2"
TOLERANCE = 1e-4  # of logits, beside the rounding of sums in another order
ALTERNATIVES = (
    "gcn, sage, appnp, sgc, gin, tuned and mlp can be exported exactly, and `pignn serve` answers for every model"
)
FACTS_FILE = "pignn.json"


def export_network(model: Method | str | Path, path: str | Path, *, force: bool = False) -> Path:
    """Write the network of a trained model as a program of ``torch.export`` that needs torch alone.

    ``torch.export.load(path).module()(x, edge_index, edge_weight)`` gives logits [N, classes]. Edges must be simple,
    without self-loops and, unless the model is directed, there in both directions, as
    :func:`pignn.graphs.simplify_edges` makes them; weights are 1 where there are none. The program is compared with
    the model on a random graph before it is written.

    Args:
        model: a fitted method with a network, the folder of a model, or that of a training run.
        path: the file to write, which ends in ``.pt2``.
        force: replace the file if it exists.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise ConfigError(f"{path}: torch.export writes {SUFFIX} files; choose such a name")
    check_outputs_may_be_written([path], [], force=force)
    method = model if isinstance(model, Method) else load_model(model)
    method.get_fit_facts()  # tells if it is not fitted
    program = build_and_verify_exported_program(method)
    facts = {
        "pignn": __version__,
        "method": method.name,
        "class_names": method.class_names_,
        "num_features": method.num_features_,
        "directed": method.get_params().get("directed") is True,
        "inputs": ["x", "edge_index", "edge_weight"],
    }
    content = io.BytesIO()
    torch.export.save(program, content, extra_files={FACTS_FILE: json.dumps(facts)})
    files.write_bytes_atomically(path, content.getvalue())
    return path


def build_and_verify_exported_program(method: Method) -> torch.export.ExportedProgram:
    """The exported network, which was compared with the method; one line says why it cannot be done."""
    if not isinstance(method, NetworkMethod):
        raise ConfigError(
            f"'{method.name}' is not one network of features and edges, so it cannot be exported exactly; "
            "`pignn serve` answers for every model, and `--method pi-gnn` trains a network"
        )
    method.embed(_make_random_graph(method, num_nodes=4))  # which says it if the method is not fitted
    network = copy.deepcopy(method.networks_["classifier"]).cpu().eval().requires_grad_(False)
    if isinstance(network, GAT):
        raise ConfigError(f"attention of '{method.backbone}' is not exported; {ALTERNATIVES}")
    module = ExportableNetwork(network, method.feature_scaling_)
    example = _make_random_graph(method, num_nodes=24)
    nodes, edges = torch.export.Dim("nodes", min=2), torch.export.Dim("edges", min=1)
    shapes = {"x": {0: nodes}, "edge_index": {1: edges}, "edge_weight": {0: edges}}
    try:
        with torch.no_grad():
            program = torch.export.export(module.eval(), _list_example_inputs(method, example), dynamic_shapes=shapes)
            graph = _make_random_graph(method, num_nodes=60)
            logits = program.module()(*_list_example_inputs(method, graph)).numpy()
    except Exception as error:  # torch.export has many of its own
        reason = format_error_in_one_line(error)
        raise ConfigError(f"torch.export cannot do this network ({reason}); {ALTERNATIVES}") from None
    difference = float(np.abs(logits - method.embed(graph)).max())
    if difference > TOLERANCE * max(1.0, float(np.abs(logits).max())):
        raise ConfigError(f"the exported network differs from the model by {difference:.2g}, so it is not written")
    return program


def _make_random_graph(method: Method, num_nodes: int) -> Data:
    """A graph that the method could be asked about."""
    generator = torch.Generator().manual_seed(num_nodes)
    x = torch.randn(num_nodes, method.num_features_, generator=generator)
    edge_index = torch.randint(0, num_nodes, (2, 3 * num_nodes), generator=generator)
    directed = method.get_params().get("directed") is True
    simple = graphs.simplify_edges(edge_index, num_nodes, None, directed=directed)
    return Data(x=x, edge_index=simple.edge_index)


def _list_example_inputs(method: Method, graph: Data) -> tuple[Any, ...]:
    return graph.x, graph.edge_index, torch.ones(graph.edge_index.shape[1])
