"""pignn inspect"""

from __future__ import annotations

from .graph_options import GraphOptions, LabeledGraphOptions
from .option_groups import expand_option_groups
from .options import Json
from .output import show_json, show_message_on_stderr, show_table


@expand_option_groups
def inspect(*, graph: LabeledGraphOptions, json: Json = False) -> None:
    """Show how a graph of your own is read, without training: ids, edges, labels, what each column becomes and why.

    The last line is the list of all columns for --features. Change a kind (number, category, text, date, vector, none)
    and give it to train or audit.

    Examples:

    \b
      pignn inspect --nodes papers.csv --edges citations.csv --id paper --label topic
      zcat papers.csv.gz | pignn inspect --nodes - --edges citations.csv --json
    """
    from ..core.errors import ConfigError

    arguments = GraphOptions.to_arguments(graph, "inspect")
    if "nodes" not in arguments:
        raise ConfigError("inspect shows a graph of your own: give its files with --nodes and --edges")
    from ..runs import early_checks

    early_checks.check_graph_arguments_can_be_read(arguments)
    from ..runs import inspect_graph

    summary = inspect_graph(**arguments)
    if json:
        show_json(summary.to_dict() | {"list": summary.list_column_records()})
        return
    print("\n".join(summary.list_fact_lines()), end="\n\n")
    show_table(summary.list_column_records())
    if summary.features:
        quoted = summary.features.replace("'", "'\\''")  # as shells want it
        show_message_on_stderr(f"\n--features '{quoted}'")
