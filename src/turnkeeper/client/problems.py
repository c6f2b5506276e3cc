"""Turning a problem document back into the error that it was made of."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper import errors
from turnkeeper.errors import OverBudget, RunEnded, TurnkeeperError

_OWN = {"type", "title", "status", "detail", "code", "retryable", "request_id", "trace_id", "stage"}


def error_of(problem: Mapping[str, Any]) -> TurnkeeperError:
    """The error with the class, the words and the facts that it has on the server. Raises KeyError for no problem.

    A code that this version does not know is a plain TurnkeeperError with that code.
    """
    code, facts = problem["code"], {name: fact for name, fact in problem.items() if name not in _OWN}
    kind = _class_of(code, facts)
    # Its own words are made of what only the server knows; these were made there.
    error = kind.__new__(kind)
    details, wait = facts.pop("details", None) or (), facts.pop("retry_after_ms", None)
    TurnkeeperError.__init__(error, problem["detail"], details=details, retry_after_ms=wait, **facts)
    error.code, error.http_status = code, problem["status"]
    error.retryable, error.title = problem["retryable"], problem["title"]
    error.stage = problem.get("stage")
    error.request_id, error.trace_id = problem.get("request_id"), problem.get("trace_id")
    return error


def _class_of(code: str, facts: Mapping[str, Any]) -> type[TurnkeeperError]:
    if "run_status" in facts:
        return RunEnded
    if code == OverBudget.code and "resource" in facts:
        return OverBudget
    return _BY_CODE.get(code, TurnkeeperError)


def _classes() -> Iterator[type[TurnkeeperError]]:
    for name in errors.__all__:
        found = getattr(errors, name)
        if isinstance(found, type) and issubclass(found, TurnkeeperError) and found is not OverBudget:
            yield found


_BY_CODE = {kind.code: kind for kind in _classes() if "code" in vars(kind)}
