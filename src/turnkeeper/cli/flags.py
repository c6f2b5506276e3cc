"""Flags that many commands have."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

CONFIG = "--config"


def flag(name: str, help: str, *, shown: str | None = None) -> Parameter:
    variable = f"TURNKEEPER_{name.upper().replace('-', '_')}"
    return Parameter(name=f"--{name}", help=help, env_var=variable, negative=(), show_default=False, metavar=shown)


Server = Annotated[str | None, flag("url", "The server to ask; a local one is found by itself.")]
Token = Annotated[str | None, flag("token", "The token that the server printed.")]
AsJson = Annotated[bool, Parameter(name="--json", help="As JSON, for programs.", negative=(), show_default=False)]
Limit = Annotated[
    int | None,
    Parameter(name="--limit", help="At most so many.", show_default=False, validator=validators.Number(gte=1)),
]
ArchiveFile = Annotated[Path, Parameter(name=["--to", "-o"], help="The file to write.")]
Sure = Annotated[bool, Parameter(name="--yes", help="Really do it; there is no way back.", negative=())]


def without_config(arguments: Sequence[str]) -> list[str]:
    """The command line without `--config FILE`, which every command takes: it is remembered as its variable."""
    left = list(arguments)
    for place, word in enumerate(left):
        if word == "--":
            break
        if word.startswith(f"{CONFIG}="):
            os.environ["TURNKEEPER_CONFIG"] = word.removeprefix(f"{CONFIG}=")
            return left[:place] + left[place + 1 :]
        if word == CONFIG and place + 1 < len(left):
            os.environ["TURNKEEPER_CONFIG"] = left[place + 1]
            return left[:place] + left[place + 2 :]
    return left
