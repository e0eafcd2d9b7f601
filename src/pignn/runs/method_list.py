"""Which methods are compared, by names and settings as people write them. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import ConfigError


@dataclass(frozen=True)
class NamedMethod:
    """A method with what it is called in a comparison."""

    label: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)


# One of each kind: a chooser, pairs, plain networks, no graph, no network, a method made for noise.
SHORT_LIST = (
    NamedMethod("auto", "auto"),
    NamedMethod("PI-GNN", "pi-gnn"),
    NamedMethod("GCN", "GCN"),
    NamedMethod("GraphSAGE", "GraphSAGE"),
    NamedMethod("MLP", "mlp"),
    NamedMethod("class mean", "class mean", {"labels": "train+val"}),
    NamedMethod("DivideMix", "dividemix"),
)


def build_named_methods_or_short_list(
    names: Mapping[str, str] | None, settings: Mapping[str, Any], has_setting: Callable[[str, str], bool]
) -> list[NamedMethod]:
    """The methods of some names, by what they are to be called, with their settings. By default the short list.

    A setting ``epochs`` is of all methods that have it, ``GCN.epochs`` of one.
    """
    known = {method.label.casefold(): method for method in SHORT_LIST}
    methods = list(SHORT_LIST) if names is None else []
    for label, name in (names or {}).items():
        method = known.get(name.casefold(), NamedMethod(name, name))
        methods.append(NamedMethod(label, method.name, method.settings))
    own = {method.label: dict(method.settings) for method in methods}
    for key, value in sorted(settings.items(), key=lambda pair: "." in pair[0]):  # those of one method count more
        label, dot, name = key.rpartition(".")
        owners = [method.label for method in methods if dot or has_setting(method.name, name)]
        owners = [each for each in owners if each.casefold() == label.casefold()] if dot else owners
        if not owners:
            reason = f"no method '{label}' is compared" if dot else f"no compared method has a setting '{name}'"
            raise ConfigError(f"{key}: {reason}; known: {', '.join(own)}")
        for owner in owners:
            own[owner][name] = value
    return [NamedMethod(method.label, method.name, own[method.label]) for method in methods]


def map_distinct_names_to_themselves(names: Sequence[str]) -> dict[str, str]:
    """Names by themselves; one that is given twice is refused."""
    if not names:
        raise ConfigError("no method to compare: give names, such as auto,GCN,pi-gnn")
    for name in names:
        if sum(each.casefold() == name.casefold() for each in names) > 1:
            raise ConfigError(f"method '{name}' is given twice; leave one out")
    return {name: name for name in names}
