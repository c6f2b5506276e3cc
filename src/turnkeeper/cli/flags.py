"""Flags that many commands have."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def flag(name: str, help: str, *, shown: str | None = None) -> Parameter:
    variable = f"TURNKEEPER_{name.upper().replace('-', '_')}"
    return Parameter(name=f"--{name}", help=help, env_var=variable, negative=(), show_default=False, metavar=shown)


Server = Annotated[str | None, flag("url", "The server to ask; a local one is found by itself.")]
Token = Annotated[str | None, flag("token", "The token that the server printed.")]
ArchiveFile = Annotated[Path, Parameter(name=["--to", "-o"], help="The file to write.")]
Sure = Annotated[bool, Parameter(name="--yes", help="Really do it; there is no way back.", negative=())]
