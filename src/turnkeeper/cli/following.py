"""Following a session or a run in the terminal while it happens."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime

from rich.console import Console
from rich.text import Text

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.hearing import FAILURES, Hearing, why_not
from turnkeeper.cli.page import Page
from turnkeeper.cli.say import complain, harmless, put_out
from turnkeeper.cli.showing import named
from turnkeeper.cli.tables import terminal_columns
from turnkeeper.cli.talk import HttpTalk, TalkFailed, Told

START = "start"
SILENT = ("output.delta", "output.snapshot", "checkpoint.saved", "budget.update")
"""What a session's tail leaves out: it is said in the end, or tells a person nothing."""


def tail(session_id: str, begin: str | None, *, as_json: bool, url: str | None, token: str | None) -> int:
    """`begin` is `start` or the number behind which to begin; what happens from now on if left out."""
    if begin is not None and begin != START and not begin.isdecimal():
        return complain(f"--from is {START} or the number of an event, not {begin!r}.")
    after = None if begin is None else 0 if begin == START else int(begin)

    def follow(talk: HttpTalk) -> int:
        told = _Told(talk, Console(highlight=False))
        _until_interrupted(talk.follow_session(session_id, after), _put_line if as_json else told.tell)
        return 0

    return with_server(url, token, follow)


def follow_run(run_id: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    def follow(talk: HttpTalk) -> int:
        hearing = Hearing(terminal_columns())

        def hear(frame: Told) -> None:
            if frame["type"] == "run.answered":
                hearing.close()
            hearing.hear(frame)
            if frame["type"] == "run.waiting":
                hearing.close()
                complain(f"It asks. Answer with: turnkeeper runs answer {run_id} TEXT")

        try:
            _until_interrupted(talk.follow_run(run_id), _put_line if as_json else hear)
        finally:
            hearing.close()
        if not as_json and hearing.end is not None and hearing.has_failed:
            return complain(f"{why_not(hearing.end)} See why with: turnkeeper explain {run_id}", code=1)
        return 0

    return with_server(url, token, follow)


def _until_interrupted(frames: Iterator[Told], tell: Callable[[Told], None]) -> None:
    try:
        for frame in frames:
            tell(frame)
    except KeyboardInterrupt:
        return


def _put_line(frame: Told) -> None:
    put_out(json.dumps(frame, ensure_ascii=False) + "\n")


class _Told:
    """What happens in a session, one event a line: when, who, and what."""

    def __init__(self, talk: HttpTalk, console: Console) -> None:
        self._talk, self._page = talk, Page(console)

    def tell(self, frame: Told) -> None:
        if frame["type"] in SILENT:
            return
        who, said, style = self._words(frame)
        if not said:
            return
        at = f"{datetime.fromisoformat(frame['ts']):%H:%M:%S}"
        first = Text.assemble((f"{at}  ", "dim"), (f"{harmless(who):<8}  ", f"bold {style}".strip()))
        self._page.hanging(first, " " * 10, harmless(said), style)

    def _words(self, frame: Told) -> tuple[str, str, str]:
        """Who, what, and how it looks."""
        data, run_id = frame["data"], frame["run_id"]
        match frame["type"]:
            case "run.accepted":
                return self._of_run(run_id, "user"), self._asked(run_id), "cyan"
            case "run.answered":
                return self._of_run(run_id, "user"), "answers the question", "cyan"
            case "run.completed":
                return self._of_run(run_id, "agent"), data.get("text") or "(said nothing)", ""
            case "run.waiting":
                return self._of_run(run_id, "agent"), f"asks: {data['question']}", "yellow"
            case "session.reset":
                return "session", f"begins afresh: epoch {data['epoch']}", "magenta"
            case "session.changed":
                what = data.get("what") or data.get("status") or "changed"
                by = f" by {data['by']}" if data.get("by") else ""
                return "session", f"{what if isinstance(what, str) else ', '.join(what)}{by}", "magenta"
            case type if type in FAILURES:
                return run_id, why_not(frame), "red"
        facts = (f"{name} {value}" for name, value in data.items() if isinstance(value, str | int) and value != "")
        return run_id or "session", f"{frame['type']} {', '.join(facts)}".rstrip(), "dim"

    def _of_run(self, run_id: str, name: str) -> str:
        try:
            return str(self._talk.asked("GET", named("runs", run_id))[name])
        except TalkFailed:
            return name

    def _asked(self, run_id: str) -> str:
        try:
            return self._talk.asked("GET", f"{named('runs', run_id, 'explanation')}?level=summary")["asked"] or ""
        except TalkFailed:
            return ""
