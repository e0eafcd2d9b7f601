"""Options of `pignn train` for the settings of PI-GNN, which declares those of all networks.

Help must not wait for torch, so the declarations are kept in a file. After a change of settings write it anew:

    python -m pignn.cli.method_options
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .options import parse_json_or_text

FILE = Path(__file__).with_name("method_settings.json")
TYPES: dict[str, Any] = {"int": int | None, "float": float | None, "bool": bool | None}


@dataclass(frozen=True)
class SettingOption:
    """A declared setting as an option."""

    name: str
    kind: str  # of its values: int, float, bool or other
    help: str

    def to_name_type_and_default(self) -> tuple[str, Any, None]:
        return self.name, Annotated[TYPES.get(self.kind, str | None), Option(help=self.help)], None


def build_pignn_setting_options_without_seed() -> list[SettingOption]:
    """The declared settings of PI-GNN."""
    from ..core.settings import list_settings
    from ..methods import PIGNN

    options = []
    for setting in list_settings(PIGNN):
        kind = setting.annotation.removesuffix(" | None")
        default = "" if setting.default is None else f" [default: {setting.default}]"
        accepts = setting.constraint.describe()
        text = f"{setting.help[:1].upper()}{setting.help[1:]}. Accepts: {accepts}.{default}"
        options.append(SettingOption(setting.name, kind if kind in TYPES else "other", text))
    return [option for option in options if option.name != "seed"]


def load_stored_pignn_setting_options() -> list[SettingOption]:
    """The same from the file, without torch."""
    return [SettingOption(**row) for row in json.loads(FILE.read_text(encoding="utf-8"))]


def parse_number_or_list_else_text(value: Any) -> Any:
    """The number or list that a text is; any other text is a name, even true."""
    parsed = parse_json_or_text(value) if isinstance(value, str) else value
    return value if isinstance(value, str) and isinstance(parsed, bool | None | dict) else parsed


if TYPE_CHECKING:
    from typing import Any as SettingOptions
elif __name__ != "__main__":
    SettingOptions = make_dataclass(
        "SettingOptions",
        [option.to_name_type_and_default() for option in load_stored_pignn_setting_options()],
        kw_only=True,
    )
else:
    rows = [asdict(option) for option in build_pignn_setting_options_without_seed()]
    FILE.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    from .stored_settings import write_stored_settings_file

    write_stored_settings_file()
