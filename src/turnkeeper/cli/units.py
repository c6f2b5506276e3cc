"""Checking and formatting the text of units from the terminal."""

import os
import shutil
import sys
from pathlib import Path

from turnkeeper.cli.say import complain, counting, harmless, put_out
from turnkeeper.errors import UnitTextInvalid
from turnkeeper.knowledge.text_form.document import Document, DocumentKind
from turnkeeper.knowledge.text_form.read import parse_document
from turnkeeper.knowledge.text_form.write import serialize_document

MAX_BYTES = 10_000_000
STDIN = "-"


def check_file(file: str, *, kind: str) -> int:
    """Say how many units a file holds, or everything that is wrong with it."""
    try:
        document = _document_in(_text_of(file), kind)
    except CannotRead as error:
        return complain(str(error))
    except UnitTextInvalid as error:
        put_out(f"{_faults_of(error, file)}\n")
        return 1
    print(f"{_shown(file)}: {_counted(document)}.")
    return 0


def format_file(file: str, *, kind: str, write: bool) -> int:
    """Print a file in its canonical form, or put it into this form. One with faults stays as it is."""
    if write and file == STDIN:
        return complain("Standard input cannot be written to. Name a file, or leave out --write.")
    try:
        text = _text_of(file)
        formatted = serialize_document(_document_in(text, kind))
    except CannotRead as error:
        return complain(str(error))
    except UnitTextInvalid as error:
        print(_faults_of(error, file), file=sys.stderr)
        return 1
    if not write:
        put_out(formatted)
        return 0
    if formatted != text:
        try:
            _replace(Path(file).resolve(), formatted)
        except OSError as error:
            return complain(f"{file} cannot be written: {error.strerror}.", code=1)
    print(f"{_shown(file)}: {'has this form already' if formatted == text else 'formatted'}.")
    return 0


class CannotRead(Exception):
    """Says why a file cannot be looked at, and what to do about it."""


def _text_of(file: str) -> str:
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CannotRead(f"There is no file {file}.") from None
    except OSError as error:
        raise CannotRead(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise CannotRead("The name of the file holds a null character.") from None
    if len(data) > MAX_BYTES:
        raise CannotRead(f"{file} is larger than {MAX_BYTES:,} bytes. Cut it into several files.")
    try:
        # Some editors put a mark in front of UTF-8; it is not part of the text.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotRead(f"{file} is not text in UTF-8; byte {error.start + 1} is the first that is not.") from None


def _document_in(text: str, kind: str) -> Document:
    return parse_document(text, kind=DocumentKind(kind), max_chars=MAX_BYTES)


def _faults_of(error: UnitTextInvalid, file: str) -> str:
    lines = [
        f"{_shown(file)}:{fault['line']}:{fault['column']}: {fault['code']} {fault['message']}"
        for fault in error.details
    ]
    left_out = error.facts["faults"] - len(lines)
    return harmless("\n".join([*lines, f"{left_out} more were left out."] if left_out else lines))


def _counted(document: Document) -> str:
    units = counting(len(document.units), "unit", "units")
    others = len(document.objects)
    return f"{units} and {counting(others, 'other object', 'other objects')}" if others else units


def _shown(file: str) -> str:
    return "standard input" if file == STDIN else harmless(file)


def _replace(path: Path, text: str) -> None:
    """All of the new text or all of the old: a reader, or a crash, never finds half of it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(fresh, "xb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, fresh)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
