"""The manual lists every setting with its default, its variable and its key in a file, and no other."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from turnkeeper import Settings
from turnkeeper.settling import settle

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "operations.md"
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| ([^|]+?) \| [^|]+ \|$", flags=re.MULTILINE)


def test_the_manual_lists_every_setting_with_its_variable_and_its_default() -> None:
    listed = ROW.findall(PAGE.read_text(encoding="utf-8"))

    assert listed == [
        (field.name, f"TURNKEEPER_{field.name.upper()}", _as_written(field.default))
        for field in dataclasses.fields(Settings)
    ]


def test_every_row_can_be_written_as_it_stands_into_a_file_and_into_the_environment(tmp_path: Path) -> None:
    rows = [(key, variable, default) for key, variable, default in ROW.findall(PAGE.read_text(encoding="utf-8"))]
    written = [(key, variable, default) for key, variable, default in rows if default != "none"]
    file = tmp_path / "turnkeeper.toml"
    file.write_text("".join(f"{key} = {_in_toml(key, default)}\n" for key, _, default in written))

    from_file = settle({}, file=file)
    from_environment = settle({variable: default for _, variable, default in written})

    assert from_file.settings == from_environment.settings == Settings()
    assert list(from_file.sources) == [key for key, _, _ in written]
    assert list(from_environment.sources.values()) == [variable for _, variable, _ in written]


def _in_toml(key: str, default: str) -> str:
    wanted = {field.name: field.type for field in dataclasses.fields(Settings)}[key]
    return default if wanted in ("int", "float", int, float) else f'"{default}"'


def _as_written(value: object) -> str:
    if value is None:
        return "none"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
