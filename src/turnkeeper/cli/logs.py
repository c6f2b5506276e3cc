"""One event is one line: when, how serious, fixed words, and then its fields."""

import json
import logging
import sys
import time

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info and record.exc_info[0] is not None:
            # Its kind alone: the words of an exception may be a user's.
            fields["kind"] = record.exc_info[0].__name__
        said = " ".join(record.getMessage().split())
        told = "".join(f" {name}={_value(value)}" for name, value in fields.items())
        return f"{moment}.{int(record.msecs):03d}Z {record.levelname.lower()} {said}{told}"


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("turnkeeper").setLevel(logging.INFO)


def _value(value: object) -> str:
    text = str(value)
    is_plain = text.isprintable() and text and not set(text) & set(' "=')
    return text if is_plain else json.dumps(text, ensure_ascii=True)
