"""The table of config keys in the guide is that of the code."""

import re
from pathlib import Path

from turnkeeper.model.pack_config import config_keys

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "intents.md"


def test_the_guide_lists_every_key_of_the_config_in_its_order() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Config\n")[2]

    assert tuple(re.findall(r"^\| `([A-Z_]+)` \|", section, flags=re.MULTILINE)) == config_keys()
