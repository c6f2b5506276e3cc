"""Words on a terminal: what goes wrong in one line, and nothing that a terminal would obey."""

import os
import shutil
import sys
import textwrap
import unicodedata
from pathlib import Path


def complain(message: str, *, code: int = 2) -> int:
    """Say in one line what is wrong, and return the exit code for it."""
    print(f"turnkeeper: {harmless(message)}", file=sys.stderr, flush=True)
    return code


def counting(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def sized(size: int) -> str:
    """A size in bytes as people read it."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024  # type: ignore[assignment]
    return f"{size:.1f} TiB"


def harmless(text: str) -> str:
    """Text without control characters, so that what somebody else wrote cannot steer the terminal."""
    return "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs"))


def put_out(text: str) -> None:
    """Print text that a program may read: letter by letter into a pipe, without harm onto a terminal."""
    try:
        if sys.stdout.isatty():
            sys.stdout.write(harmless(text))
        else:
            # Bytes, so that neither a locale nor a platform changes a letter or the end of a line.
            sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough, such as `head`. What is left must not be tried again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def folded(line: str) -> str:
    """A line of a list: whole for programs, and folded between words where a terminal is too narrow for it."""
    columns = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or len(line) <= columns:
        return line
    return textwrap.fill(line, width=columns, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def own_command() -> str:
    """How this program can be called from where the user is."""
    if shutil.which("turnkeeper"):
        return "turnkeeper"
    script = Path(sys.argv[0])
    if script.name == "turnkeeper":
        here = Path.cwd()
        return str(script.relative_to(here)) if script.is_relative_to(here) else str(script)
    return f"{Path(sys.executable).name} -m turnkeeper.cli.main"


class Flow:
    """Writes pieces of text as they come, and breaks lines between words where the terminal would break a word."""

    def __init__(self, columns: int | None) -> None:
        self._columns = columns
        self._column = 0
        self._word = ""

    def write(self, piece: str) -> None:
        for letter in harmless(piece):
            if letter in " \n\t":
                self._end_word()
                if letter == "\n" or self._column == self._columns:
                    self._put("\n")
                else:
                    self._put(letter)
            else:
                self._word += letter
                if self._columns is None or len(self._word) >= self._columns:
                    self._end_word()
        if self._columns is None:
            self._end_word()
        sys.stdout.flush()

    def close(self) -> None:
        self._end_word()
        print(flush=True)

    def _end_word(self) -> None:
        if self._columns is not None and self._column and self._column + len(self._word) > self._columns:
            self._put("\n")
        self._put(self._word)
        self._word = ""

    def _put(self, text: str) -> None:
        sys.stdout.write(text)
        self._column = 0 if text == "\n" else self._column + len(text)
