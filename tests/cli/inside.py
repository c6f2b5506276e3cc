"""The command `turnkeeper` in the process of the tests: many commands, one interpreter."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.cli.terminal import ROOT
from turnkeeper.cli.commands import run


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def carried_out(*arguments: str, columns: int | None = None, cwd: Path = ROOT) -> Done:
    """Carry out a command line. With `columns` it believes to be at a terminal that wide."""
    out, err = _Stream(columns), _Stream(columns)
    with _alone(columns), contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Done(returncode=code, stdout=out.text, stderr=err.text)


class _Stream(io.TextIOWrapper):
    def __init__(self, columns: int | None) -> None:
        self._bytes, self._columns = io.BytesIO(), columns
        super().__init__(self._bytes, encoding="utf-8", newline="", write_through=True)

    def isatty(self) -> bool:
        return self._columns is not None

    @property
    def text(self) -> str:
        return self._bytes.getvalue().decode()


@contextlib.contextmanager
def _alone(columns: int | None) -> Iterator[None]:
    """Without settings of the person who runs the tests, and with nothing to read."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TURNKEEPER_")}
    environ |= {"NO_COLOR": "1"} if columns is None else {"NO_COLOR": "1", "COLUMNS": str(columns)}
    with mock.patch.dict(os.environ, environ, clear=True), mock.patch.object(sys, "stdin", io.StringIO()):
        yield
