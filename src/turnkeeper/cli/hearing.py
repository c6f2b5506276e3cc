"""Showing an answer as it comes: its pieces, its question, and what it ended with."""

from turnkeeper.cli.say import Flow
from turnkeeper.cli.talk import Told

FAILURES = ("run.failed", "run.cancelled", "run.timed_out", "run.abandoned", "stream.broken")


class Hearing:
    """What was heard of one answer until now. `end` is the frame that it ended, failed or asked with."""

    def __init__(self, columns: int | None) -> None:
        self._flow = Flow(columns)
        self._shown = ""
        self.end: Told | None = None

    def hear(self, frame: Told) -> None:
        data = frame["data"]
        match frame["type"]:
            case "output.delta":
                self._show(data["text"])
            case "output.snapshot":
                self._show(self._rest(data.get("text") or ""))
            case "run.completed":
                self._show(self._rest(data.get("text") or ""))
                self.end = frame
            case "run.waiting":
                self._show(self._rest(data["question"]))
                self.end = frame
            case type if type in FAILURES:
                self.end = frame

    @property
    def has_failed(self) -> bool:
        return self.end is None or self.end["type"] in FAILURES

    def close(self) -> None:
        """End the line that was begun."""
        if self._shown:
            self._flow.close()
            self._shown = ""

    def _show(self, piece: str) -> None:
        self._flow.write(piece)
        self._shown += piece

    def _rest(self, text: str) -> str:
        """What is still to be shown of a text; all of it on a new line when something else was shown before."""
        return text[len(self._shown) :] if text.startswith(self._shown) else f"\n{text}"


def why_not(frame: Told | None) -> str:
    """What a run ended with instead of an answer."""
    if frame is None:
        return "The answer did not come to its end. Ask again to see whether it is there."
    if error := frame["data"].get("error"):
        return f"{error['message']} ({error['code']})"
    return f"The run was {frame['type'].removeprefix('run.').replace('_', ' ')}."
