"""Parts that a program registers for itself."""

from __future__ import annotations

import pytest

from pignn.core.errors import ConfigError
from pignn.core.registry import Entry, Registry


def make_part(name: str) -> type:
    return type("Part", (), {"name": name})


def test_a_part_that_is_defined_anew_replaces_the_one_before() -> None:
    registry: Registry[type] = Registry("part", "pignn.parts", [Entry("own", "pignn.core.errors:ConfigError")])
    before, after = make_part("mine"), make_part("mine")
    registry.register("mine", before)
    registry.register("mine", after)
    assert registry.get("mine") is after
    with pytest.raises(ConfigError, match="already"):
        registry.register("own", make_part("own"))
    with pytest.raises(ConfigError, match="already"):
        registry.register("mine", ConfigError)


def test_a_class_goes_by_its_own_name() -> None:
    registry: Registry[type] = Registry("part", "pignn.parts")
    with pytest.raises(ConfigError, match="the class registered as part 'b' has the name 'a'; use one name"):
        registry.register("b", make_part("a"))
