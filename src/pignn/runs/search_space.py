"""Which values of which settings are tried, as the settings declare it or as a user says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, build_unknown_name_error
from ..core.settings import Bool, Choice, Range, Setting, list_settings

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from ..methods import Method

SearchSpace = dict[str, Range | tuple[Any, ...]]


def build_search_space(method: type[Method], search: Mapping[str, Any] | Sequence[str] | None) -> SearchSpace:
    """What is tried of each setting.

    Args:
        method: the class of the method.
        search: names of settings, with (low, high) or a list of values where the declared ones are not meant. By
            default all settings that declare what to try.
    """
    declared = {each.name: each for each in list_settings(method)}
    if search is None:
        space: SearchSpace = {name: each.search for name, each in declared.items() if each.search is not None}
        if not space:
            raise ConfigError(
                f"method '{method.name}' has no setting that declares what to try; name some with values to try"
            )
        return space
    wanted = search if isinstance(search, Mapping) else dict.fromkeys(search)
    if not wanted:
        raise ConfigError("search names no setting; leave it out to try all that declare what to try")
    for name in wanted:
        if name not in declared or name == "seed":
            raise build_unknown_name_error("setting to search", name, [each for each in declared if each != "seed"])
    return {name: _check_or_choose_values_to_try(declared[name], values) for name, values in wanted.items()}


def _check_or_choose_values_to_try(setting: Setting, values: Any) -> Range | tuple[Any, ...]:
    """What a user says, checked; else what is declared, or all there is where that is little."""
    if values is None:
        if setting.search is not None:
            return setting.search
        if isinstance(setting.constraint, Bool):
            return (False, True)
        if isinstance(setting.constraint, Choice):
            return tuple(setting.constraint.options)
        raise ConfigError(f"{setting.name} does not declare what to try: give (low, high) or a list of values")
    is_range = isinstance(values, tuple) and len(values) == 2 and all(type(value) in (int, float) for value in values)
    chosen = Range.from_ends_with_log_if_wide(*values) if is_range else None
    listed = values if is_range or isinstance(values, list | tuple) else [values]
    for value in listed:
        setting.constraint.raise_unless_valid(setting.name, value)
    if chosen is not None and not chosen.low < chosen.high:
        raise ConfigError(
            f"{setting.name}: the range {chosen.low:g} to {chosen.high:g} is empty; give the lower end first"
        )
    return chosen or tuple(listed)


def build_optuna_distribution(values: Range | tuple[Any, ...]) -> BaseDistribution:
    """The same as Optuna has it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(values, Range):
        return CategoricalDistribution(values)
    if values.is_integer:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)
