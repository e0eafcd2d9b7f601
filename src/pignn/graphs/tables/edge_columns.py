"""Which columns of a table hold the edges."""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import ConfigError, DataError, warn_user
from .cells import quote_cell_for_message
from .table import Table


class EdgeColumns(NamedTuple):
    """The columns of a table in which the edges are."""

    source: str
    target: str
    weight: str | None


def choose_edge_columns(
    table: Table,
    source: str | None,
    target: str | None,
    weight: str | None,
    advice: str = "--weight (weight=) names it",
    type_column: str | None = None,
) -> EdgeColumns:
    """The columns of edges: those given, else those with the usual names, else the first ones.

    ``weight="none"`` leaves weights out. ``advice`` tells how to name a column of weights. ``type_column`` is
    a column with another use.
    """
    columns = table.columns
    if len(columns) < 2:
        raise DataError(
            f"{table.name} has one column ({quote_cell_for_message(columns[0])}); "
            "edges need two; is the delimiter right?"
        )
    lower = {name.lower(): name for name in reversed(columns)}
    ends = next((pair for pair in (("source", "target"), ("src", "dst"), ("from", "to")) if {*pair} <= {*lower}), None)
    first, second = (lower[name] for name in ends) if ends else columns[:2]
    is_given = weight is not None
    if weight == "none":
        weight = None
    elif weight is not None:
        weight = table.check_column_exists_and_get_name(weight)
    elif table.has_header:
        weight = lower.get("weight")
    else:
        weight = columns[2] if len(columns) == 3 else None
    chosen = EdgeColumns(
        table.check_column_exists_and_get_name(source or first),
        table.check_column_exists_and_get_name(target or second),
        weight,
    )
    if len(set(chosen)) < 3:
        raise ConfigError(f"source, target and weight must be three columns of {table.name}, not '{chosen[0]}' twice")
    others = [name for name in columns if name not in (*chosen, type_column)]
    if not is_given and weight is None and others and "weight" not in lower:
        warn_user(f"{table.name}: column '{others[0]}' is not used; if it has the weights of the edges, {advice}")
    return chosen
