"""One event is one line: when, how serious, fixed words, and then its fields."""

import json
import logging
import os
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from turnkeeper.cli.say import harmless

MOST_PLACES = 4

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
_OURS = str(Path(__file__).parents[1]) + os.sep


class OneLine(logging.Formatter):
    """Of a failure it tells kind and places in the code; its words, which may be a user's, only where it is `whole`."""

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__()
        self._whole = whole

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        failure = record.exc_info[1] if record.exc_info else None
        if failure is not None:
            fields["kind"] = type(failure).__name__
            if places := _places(failure.__traceback__):
                fields["place"] = places
        said = " ".join(record.getMessage().split())
        told = "".join(f" {name}={_value(value)}" for name, value in fields.items())
        line = f"{moment}.{int(record.msecs):03d}Z {record.levelname.lower()} {said}{told}"
        if failure is not None and self._whole:
            line += "\n" + harmless("".join(traceback.format_exception(failure)).rstrip())
        return line


def log_to_stderr(*, whole: bool = False) -> None:
    """`whole` is for development: it also tells what failures say, and everything else that there is to tell."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(whole=whole))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("turnkeeper").setLevel(logging.DEBUG if whole else logging.INFO)


def _places(trace: TracebackType | None) -> str:
    """Where it failed, the innermost last. What called the code of others is left out, and so is what lies between."""
    frames = list(traceback.extract_tb(trace))
    first = next((number for number, each in enumerate(frames) if not each.filename.startswith(_OURS)), 0)
    frames = frames[first:]
    if len(frames) > MOST_PLACES:
        frames = [frames[0], *frames[1 - MOST_PLACES :]]
    return ", ".join(f"{_shown(each.filename)}:{each.lineno} in {each.name}" for each in frames)


def _shown(filename: str) -> str:
    here = os.getcwd() + os.sep
    return filename.removeprefix(here)


def _value(value: object) -> str:
    text = str(value)
    is_plain = text.isprintable() and text and not set(text) & set(' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=True)
