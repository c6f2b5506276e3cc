"""What an error says helps the one who reads it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import turnkeeper.errors

# One sentence that is itself what to do, or one that is handed in by who raises it.
SAYS_IT_IN_ONE = {
    "BusRefused",
    "Escalated",
    "ExtraMissing",
    "MediaTypeNotSupported",
    "PackUnpinned",
    "StoreUnavailable",
    "VerifyRejected",
}


def texts() -> Iterator[tuple[str, str]]:
    """The texts that are written in the classes of errors; what is put into them is left out."""
    for path in Path(turnkeeper.errors.__file__).parent.glob("*.py"):
        for kind in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(kind, ast.ClassDef):
                for call in ast.walk(kind):
                    if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "__init__" and call.args:
                        text = "".join(
                            str(part.value) if isinstance(part, ast.Constant) else "it"
                            for part in getattr(call.args[0], "values", [call.args[0]])
                            if not isinstance(part, ast.Constant) or isinstance(part.value, str)
                        )
                        if isinstance(call.args[0], ast.Constant | ast.JoinedStr) and " " in text:
                            yield kind.name, text


def test_an_error_says_what_is_wrong_and_then_what_to_do() -> None:
    told = dict(texts())
    one_sentence = {name for name, text in told.items() if len(re.findall(r"[.;:](?: |$)|^it ", text)) < 2}

    assert len(told) > 60
    assert one_sentence <= SAYS_IT_IN_ONE
