"""Moving a database from the terminal: a bar that grows for people, plain lines for programs."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator

from turnkeeper import databases
from turnkeeper.cli.say import complain, counting, harmless
from turnkeeper.databases import Moved, Watching
from turnkeeper.errors import TurnkeeperError

WORDS = {
    "closing": "refusing new messages",
    "waiting": "waiting for runs to finish",
    "copying": "copying rows",
    "comparing": "comparing rows",
}
TENTHS = 10
INTERRUPTED = 130


def move(source: str, target: str, *, grace_seconds: float) -> int:
    try:
        with _watching() as watching:
            moved = asyncio.run(_move(source, target, grace_seconds, watching))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Unless this was its last moment, the source is open again and the target unusable.", file=sys.stderr)
        return complain("Interrupted. turnkeeper db status tells which of the two is open.", code=INTERRUPTED)
    except TurnkeeperError as error:
        return complain(error.detail, code=1)
    print(harmless(_told(moved)))
    return 0


async def _move(source: str, target: str, grace_seconds: float, watching: Watching) -> Moved:
    """Being asked to end is like an interrupt at the terminal: the source is opened again first."""
    task = asyncio.current_task()
    assert task is not None, "it runs in one"
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await databases.move(source, target, grace_seconds=grace_seconds, watching=watching)


def reopen(source: str, *, although_moved: bool) -> int:
    try:
        asyncio.run(databases.reopen(source, although_moved=although_moved))
    except TurnkeeperError as error:
        return complain(error.detail, code=1)
    print("The database is open.")
    return 0


def _told(moved: Moved) -> str:
    tables = [f"{each.rows:>9}  {each.digest_there[:12]}  {each.table}" for each in moved.tables if each.rows]
    lines = [*tables, "", f"{moved.rows} rows arrived as they were; the digest of all is", moved.digest, ""]
    if moved.left_open:
        runs = counting(moved.left_open, "run was", "runs were")
        lines.append(f"{runs} still under way. Nodes on the target give them up once their lease is over.")
    if moved.in_files:
        contents = counting(moved.in_files, "content lies", "contents lie")
        lines.append(f"{contents} in files, which stay where they are: keep the setting artifact_files.")
    return "\n".join(
        [
            *lines,
            f"Moved from {moved.source}",
            f"        to {moved.target}",
            "",
            "The source stays closed: nodes on it still read, and refuse to write.",
            "Now stop them, and start them with --database naming the target.",
        ]
    )


@contextlib.contextmanager
def _watching() -> Iterator[Watching]:
    if not sys.stdout.isatty():
        yield _Lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description:28}"), BarColumn(), MofNCompleteColumn()) as progress:
        tasks = {}

        def watch(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(WORDS.get(step, step))
            progress.update(tasks[step], completed=done, total=total or None)

        yield watch


class _Lines:
    """A line at each tenth of the way."""

    def __init__(self) -> None:
        self._said: set[tuple[str, int]] = set()

    def __call__(self, step: str, done: int, total: int) -> None:
        tenth = TENTHS * done // total if total else 0
        if (step, tenth) not in self._said:
            self._said.add((step, tenth))
            print(f"{WORDS.get(step, step)}: {done}{f' of {total}' if total else ''}", flush=True)
