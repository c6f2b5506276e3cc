"""The files in the guide to packs are a pack without faults, and its tables name every key."""

import re
from pathlib import Path

from turnkeeper.model.pack_config import PackConfig, config_keys
from turnkeeper.packs import intents, manifest
from turnkeeper.packs.reading import read_pack

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "packs.md").read_text(encoding="utf-8")
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CONFIG_ROW = re.compile(r"^\| `([A-Z_]+)` \| `?([^|`]+)`? \|", flags=re.MULTILINE)


def test_the_files_of_the_guide_are_a_pack_without_faults() -> None:
    files = dict(FILE.findall(PAGE))

    pack, faults = read_pack(files)

    assert len(files) == PAGE.count("```yaml") + PAGE.count("```json") + 1
    assert faults == ()
    assert pack is not None
    assert pack.ref == "table-desk@1.2.0"


def test_the_guide_lists_every_key_of_the_config_with_its_default() -> None:
    defaults = {key: _as_written(getattr(PackConfig(), key.lower())) for key in config_keys()}

    assert dict(CONFIG_ROW.findall(PAGE)) == defaults


def test_the_guide_names_every_key_of_a_pack_and_of_an_intent() -> None:
    named = {
        name for row in re.findall(r"^\| (`[^|]*) \|", PAGE, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }

    assert {*manifest.KEYS, *intents.KEYS} <= named
    assert all(f"`{ceiling}`" in PAGE for ceiling in manifest.CEILINGS)


def _as_written(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)
