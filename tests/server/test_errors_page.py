"""The table of errors in the manual and the errors in the code are the same."""

from pathlib import Path

from turnkeeper import errors

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "http.md"


def test_the_manual_lists_every_error_and_no_other() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| Code | Status | Retryable | Title |\n|---|---|---|---|\n")[2]

    assert table.splitlines() == [row(*error) for error in sorted(every_error())]


def every_error() -> set[tuple[str, int, bool, str]]:
    found = {(errors.TurnkeeperError.code, 500, False, errors.TurnkeeperError.title)}
    for kind in subclasses_of(errors.TurnkeeperError):
        if kind is not errors.RunEnded:
            found.add((kind.code, kind.http_status, kind.retryable, kind.title))
    for code, status, retryable, _ in errors.ENDS_OF_RUN.values():
        if code != errors.AgentFailed.code:
            found.add((code, status, retryable, errors.RunEnded.title))
    return found


def subclasses_of(kind: type[errors.TurnkeeperError]) -> set[type[errors.TurnkeeperError]]:
    """Those of our own room; what other tests make of it is none of the manual's business."""
    direct = {other for other in kind.__subclasses__() if other.__module__.startswith(errors.__name__)}
    return direct.union(*(subclasses_of(other) for other in direct)) if direct else direct


def row(code: str, status: int, retryable: bool, title: str) -> str:
    return f"| `{code}` | {status} | {'yes' if retryable else 'no'} | {title} |"
