"""Options that several commands share, written once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_type_hints


def expand_option_groups(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command that takes a dataclass of options, as typer sees it: with each of its fields as an option of its own.

    typer knows no groups of options. The fields stand in the help where the group stands in the signature.
    """
    hints = get_type_hints(command, include_extras=True)
    options: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind: Any = hints[parameter.name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            options.append(parameter.replace(annotation=kind, kind=parameter.KEYWORD_ONLY))
            continue
        types, fields = get_type_hints(kind, include_extras=True), inspect.signature(kind).parameters
        groups[parameter.name] = kind, list(fields)
        options += [field.replace(annotation=types[name], kind=field.KEYWORD_ONLY) for name, field in fields.items()]

    @functools.wraps(command)
    def run(**values: Any) -> int | None:
        packed = {
            name: kind(**{field: values.pop(field) for field in fields}) for name, (kind, fields) in groups.items()
        }
        return command(**packed, **values)

    del run.__wrapped__  # typer would look through it
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run
