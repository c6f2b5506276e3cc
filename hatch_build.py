"""Puts the built console into the wheel."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ConsoleHook(BuildHookInterface[Any]):
    """An editable install has the console built beside it, by `./dev` or `python web/build_console.py`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path[:0] = [str(Path(self.root) / "web")]
        from build_console import build_console

        build_console()
