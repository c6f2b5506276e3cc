"""What the main thread of a page did, as Chromium itself wrote it down."""

import json
from dataclasses import dataclass
from typing import Any

MAIN_THREAD = "CrRendererMain"
TASK = "RunTask"
CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of the main thread, in milliseconds."""

    lengths: tuple[float, ...]

    @property
    def longest(self) -> float:
        return max(self.lengths, default=0.0)


def tasks_of(trace: bytes) -> Tasks:
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"].get("name") == MAIN_THREAD
    }
    busiest = max(main, key=lambda thread: _busy(events, thread), default=None)
    # A task that runs another one while it waits is told twice; the outer one holds the inner.
    return Tasks(
        tuple(
            event["dur"] / 1_000
            for event in events
            if event["name"] == TASK and event.get("ph") == "X" and (event["pid"], event["tid"]) == busiest
        )
    )


def _busy(events: list[dict[str, Any]], thread: tuple[int, int]) -> float:
    return sum(float(event.get("dur", 0)) for event in events if (event["pid"], event.get("tid")) == thread)
