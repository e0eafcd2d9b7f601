"""Node classification when the labels of a graph cannot be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._version import __version__
from .core.lazy import make_lazy_getattr_and_dir
from .core.memory import ask_for_huge_pages
from .core.notebook import register_notebook_display, show_own_warnings_in_one_line
from .core.threads import limit_thread_spinning

if TYPE_CHECKING:
    from . import (
        auditing,
        backbones,
        graphs,
        methods,
        noise,
        pairs,
        propagation,
        report,
        reviewing,
        runs,
        serving,
        studies,
        training,
    )
    from .auditing import find_label_issues
    from .core.errors import PignnError, PignnWarning
    from .graphs import list_datasets, load, read_graph
    from .methods import PIGNN, Vanilla, list_methods, load_model, make
    from .noise import corrupt, list_noises
    from .reviewing import review
    from .runs import (
        apply_decisions,
        audit,
        compare,
        export_network,
        from_hub,
        inspect_graph,
        predict,
        push_to_hub,
        to_networkx,
        train,
        tune,
    )
    from .training import list_metrics

__all__ = [
    "PIGNN",
    "PignnError",
    "PignnWarning",
    "Vanilla",
    "__version__",
    "apply_decisions",
    "audit",
    "auditing",
    "backbones",
    "compare",
    "corrupt",
    "export_network",
    "find_label_issues",
    "from_hub",
    "graphs",
    "inspect_graph",
    "list_datasets",
    "list_methods",
    "list_metrics",
    "list_noises",
    "load",
    "load_model",
    "make",
    "methods",
    "noise",
    "pairs",
    "predict",
    "propagation",
    "push_to_hub",
    "read_graph",
    "report",
    "review",
    "reviewing",
    "runs",
    "serving",
    "studies",
    "to_networkx",
    "train",
    "training",
    "tune",
]


def _render_graph_html(data: object) -> str | None:
    from .graphs.importers.summary import render_graph_html_or_none

    return render_graph_html_or_none(data)


limit_thread_spinning()  # before torch is imported
ask_for_huge_pages()
show_own_warnings_in_one_line()
register_notebook_display(_render_graph_html)

# Imported on first use, so that `pignn --help` does not wait for torch.
__getattr__, __dir__ = make_lazy_getattr_and_dir(__name__, __file__)
