"""The manual lists every setting with its default, and no other."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from turnkeeper import Settings

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "operations.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+?) \| [^|]+ \|$", flags=re.MULTILINE)


def test_the_manual_lists_every_setting_with_its_default() -> None:
    listed = ROW.findall(PAGE.read_text(encoding="utf-8"))

    assert listed == [(field.name, _as_written(field.default)) for field in dataclasses.fields(Settings)]


def _as_written(value: object) -> str:
    if value is None:
        return "none"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
