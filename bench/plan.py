"""What is run, how often and in which order: interleaved, rotated, a process for each."""

import json
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contenders import ENTRIES, Entry
from bench.machine import ROOT, Interpreter
from bench.medians import Results
from bench.scenarios.counted import BEGIN, END, PAUSE
from tests.postgres import create_database, drop_database

LONGEST_PROCESS_SECONDS = 300
BARE = {"sqlite": "sqlite:raw", "postgres": "postgres:raw"}
OUR_ROWS = {"sqlite": "sqlite:raw-rows", "postgres": "postgres:raw-rows"}
COLD_OPENS = 3
OURS = ("store", "turnkeeper")


Numbers = list[tuple[str, str, dict[str, Any]]]
"""Scenario, contender, and what was measured."""

Where = tuple[Path, str | None]
"""A folder, and the address of a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    rounds: int
    turns: int = 200
    seconds: float = 1.5
    sessions: tuple[int, ...] = (1, 16, 64)
    writer_turns: int = 25
    growth_turns: int = 1_000
    long: int = 5_000
    short: int = 1_000
    with_peers: bool = True


QUICK = Sizes(
    rounds=1,
    turns=60,
    seconds=0.4,
    sessions=(1, 64),
    writer_turns=10,
    growth_turns=100,
    long=300,
    short=100,
    with_peers=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A measurement that takes part in so many rounds, and gives its numbers by scenario and contender."""

    name: str
    contender: Entry
    rounds: int
    run: Callable[[], Numbers]


class ProcessFailed(Exception):
    """Holds the last thing the process said."""


@dataclass(slots=True)
class Bench:
    """Runs jobs and collects their numbers. Without an address of a PostgreSQL server, only SQLite is measured."""

    sizes: Sizes
    ours: Interpreter
    peers: Interpreter
    folder: Path
    server: str | None
    wanted: frozenset[str] = frozenset()
    results: Results = field(default_factory=Results)
    not_measured: dict[str, str] = field(default_factory=dict)

    def contenders(self) -> list[Entry]:
        """Those that are wanted and that some Python here can run."""
        names = self.wanted & (ENTRIES.keys() | {"sqlite", "postgres"})
        chosen = [e for e in ENTRIES.values() if not names or e.name in names or e.database in names]
        return [entry for entry in chosen if self._can_run(entry)]

    def run(self, say: Callable[[str], None]) -> None:
        jobs = [job for jobs in self._jobs().values() for job in jobs]
        for number in range(self.sizes.rounds):
            for name, group in _groups(jobs).items():
                due = [job for job in group if number < job.rounds]
                turned = number * 3 % max(1, len(due))
                for job in due[turned:] + due[:turned]:
                    say(f"round {number + 1} of {self.sizes.rounds}: {name}, {job.contender.name}")
                    self._run(job)

    def _run(self, job: Job) -> None:
        try:
            for scenario, contender, numbers in job.run():
                self.results.add(scenario, contender, numbers)
        except (ProcessFailed, subprocess.TimeoutExpired) as error:
            self.not_measured[f"{job.name}, {job.contender.name}"] = str(error)

    def _can_run(self, entry: Entry) -> bool:
        if entry.on_postgres and self.server is None:
            self.not_measured[entry.name] = "no PostgreSQL server"
            return False
        if entry.is_peer and not self.sizes.with_peers:
            self.not_measured[entry.name] = "left out of a quick run"
            return False
        if not self._python_of(entry).has(entry):
            self.not_measured[entry.name] = "not installed, see bench/requirements-peers.txt"
            return False
        return True

    def _python_of(self, entry: Entry) -> Interpreter:
        return self.peers if entry.is_peer or "psycopg" in entry.needs else self.ours

    # --- the jobs

    def _jobs(self) -> Mapping[str, Sequence[Job]]:
        scenarios: dict[str, Callable[[Entry], Iterator[Job]]] = {
            "one_turn": self._one_turn,
            "at_once": self._at_once,
            "processes": self._processes,
            "writers": self._writers,
            "growth": self._growth,
            "length": self._length,
            "counted": self._counted,
        }
        chosen = self.wanted & scenarios.keys() or scenarios.keys()
        entries = self.contenders()
        return {name: [job for e in entries for job in scenarios[name](e)] for name in scenarios if name in chosen}

    def _one_turn(self, entry: Entry) -> Iterator[Job]:
        names = [BARE[entry.database]]
        if entry.name.split(":")[1] in OURS:
            names.append(OUR_ROWS[entry.database])
        against = [name for name in names if name != entry.name and name in ENTRIES]
        turns = self.sizes.turns // 2 if entry.is_peer else self.sizes.turns

        creates = entry.is_peer or entry.name.split(":")[1] in ("raw", "turnkeeper")

        def run() -> Numbers:
            """Creating sessions is measured in the same process, since peers take seconds to import."""
            with self._databases(entry, *(ENTRIES[name] for name in against)) as databases, self._place(entry) as room:
                tasks = [self._task("one_turn", entry, {"turns": turns, "databases": databases}, room, against)]
                if creates:
                    tasks.append(self._task("create", entry, {"seconds": self.sizes.seconds / 3}, room))
                measured = self._finish(self._start(entry, tasks))
            return [(task["scenario"], entry.name, numbers) for task, numbers in zip(tasks, measured, strict=True)]

        yield Job(name="one_turn", contender=entry, rounds=self.sizes.rounds, run=run)

    def _at_once(self, entry: Entry) -> Iterator[Job]:
        for sessions in self.sizes.sessions:
            # Bare SQLite on the calling thread has no meaning for many; group commit stands for it.
            is_alone = entry.name in ("sqlite:raw", "sqlite:raw-rows")
            if (entry.is_peer and sessions != self.sizes.sessions[-1]) or (is_alone and sessions > 1):
                continue
            given = {"sessions": sessions, "seconds": self.sizes.seconds}
            name = f"at_once/{sessions}"
            run = self._simply("at_once", entry, given, name)
            yield Job(name=name, contender=entry, rounds=self.sizes.rounds, run=run)

    def _writers(self, entry: Entry) -> Iterator[Job]:
        if entry.name.split(":")[1] not in ("store", "raw-rows", "raw-group-rows"):
            run = self._simply("writers", entry, {"turns": self.sizes.writer_turns})
            yield Job(name="writers", contender=entry, rounds=1, run=run)

    def _growth(self, entry: Entry) -> Iterator[Job]:
        """The session that has grown is then opened cold, several times."""
        if not entry.is_peer and entry.name.split(":")[1] not in ("raw", "turnkeeper"):
            return

        def run() -> Numbers:
            with self._place(entry) as room:
                turns = min(entry.most_turns, self.sizes.growth_turns)
                [grown] = self._finish(self._start(entry, [self._task("growth", entry, {"turns": turns}, room)]))
                measured = [("growth", entry.name, grown)]
                for opened in self._opened_by(entry) * COLD_OPENS:
                    task = self._task("cold_open", opened, {"session": grown["session"]}, room)
                    [cold] = self._finish(self._start(opened, [task]))
                    measured.append(("cold_open", opened.name, cold))
            return measured

        yield Job(name="growth", contender=entry, rounds=1, run=run)

    def _opened_by(self, entry: Entry) -> list[Entry]:
        """Our file is opened by the whole of us, and by the store alone."""
        alone = ENTRIES[f"{entry.database}:store"]
        return [entry, alone] if entry.name.endswith(":turnkeeper") else [entry]

    def _length(self, entry: Entry) -> Iterator[Job]:
        if entry.name.endswith(":turnkeeper"):
            sizes = {"long": self.sizes.long, "short": self.sizes.short, "turns": self.sizes.turns}
            yield Job(name="length", contender=entry, rounds=1, run=self._simply("length", entry, sizes))

    def _counted(self, entry: Entry) -> Iterator[Job]:
        if entry.name == "sqlite:turnkeeper":
            yield Job(name="counted", contender=entry, rounds=1, run=lambda: self._syncs(entry))
        elif entry.name == "postgres:turnkeeper":
            run = self._simply("counted", entry, {"turns": 50})
            yield Job(name="counted", contender=entry, rounds=1, run=run)

    def _processes(self, entry: Entry) -> Iterator[Job]:
        if entry.name.endswith(":turnkeeper"):
            yield Job(
                name="processes", contender=entry, rounds=self.sizes.rounds, run=lambda: self._two_processes(entry)
            )

    # --- how a job is done

    def _simply(
        self, scenario: str, entry: Entry, given: Mapping[str, Any], name: str | None = None
    ) -> Callable[[], Numbers]:
        def run() -> Numbers:
            with self._place(entry) as room:
                [numbers] = self._finish(self._start(entry, [self._task(scenario, entry, given, room)]))
            return [(name or scenario, entry.name, numbers)]

        return run

    def _task(
        self, scenario: str, entry: Entry, given: Mapping[str, Any], room: Where, against: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What bench.one is asked for."""
        folder, dsn = room
        return {
            "scenario": scenario,
            "contender": entry.name,
            "place": {"folder": str(folder), "dsn": dsn, "quiet": scenario == "counted"},
            "against": list(against),
            "given": given,
        }

    def _start(
        self, entry: Entry, tasks: Sequence[Mapping[str, Any]], before: Sequence[str] = ()
    ) -> "subprocess.Popen[str]":
        command = [*before, str(self._python_of(entry).path), "-m", "bench.one", json.dumps(tasks)]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _finish(self, process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
        try:
            said, complained = process.communicate(timeout=LONGEST_PROCESS_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        if process.returncode:
            last = complained.strip().splitlines()[-1:] or [f"ended with {process.returncode}"]
            raise ProcessFailed(last[0])
        measured: list[dict[str, Any]] = json.loads(said.strip().splitlines()[-1])
        return measured

    def _two_processes(self, entry: Entry) -> Numbers:
        given = {"sessions": 32, "seconds": max(1.0, self.sizes.seconds), "processes": 2}
        with self._place(entry) as room:
            both = [self._start(entry, [self._task("at_once", entry, given, room)]) for _ in range(2)]
            slower, faster = sorted(self._finish(process)[0]["turns_per_s"] for process in both)
        numbers = {"turns_per_s": slower + faster, "slower": slower, "faster": faster, "ratio": slower / faster}
        return [("processes", entry.name, numbers)]

    def _syncs(self, entry: Entry) -> Numbers:
        if shutil.which("strace") is None:
            raise ProcessFailed("strace is not installed")
        given = {"turns": 20, "more_turns": 200}
        watched = "trace=fdatasync,fsync,?access,?faccessat,?faccessat2"
        with self._place(entry) as room:
            trace = room[0].with_name(f"{room[0].name}.trace")
            before = ("strace", "-f", "-y", "-e", watched, "-o", str(trace))
            self._finish(self._start(entry, [self._task("counted", entry, given, room)], before))
            lines = trace.read_text(errors="replace").splitlines()
            trace.unlink()
        return [("counted", entry.name, _counted(lines, given["turns"], given["more_turns"]))]

    def _place(self, entry: Entry) -> "_Room":
        return _Room(self.folder, self.server if entry.on_postgres else None)

    def _databases(self, *entries: Entry) -> "_Databases":
        return _Databases([entry.name for entry in entries if entry.on_postgres], self.server)


def _counted(lines: Sequence[str], turns: int, more_turns: int) -> dict[str, Any]:
    """Syncs per turn of the log; and of all other files, which are the checkpoints'."""
    marks = [next(place for place, line in enumerate(lines) if mark in line) for mark in (BEGIN, PAUSE, END)]
    syncs = [("fsync(" in line or "fdatasync(" in line, "-wal>" in line) for line in lines]
    first, more = syncs[marks[0] : marks[1]], syncs[marks[1] : marks[2]]
    return {
        "syncs": sum(is_sync for is_sync, _ in first) / turns,
        "checkpoint_syncs": (sum(is_sync for is_sync, _ in more) - 2 * more_turns) / more_turns,
        "syncs_of_log": sum(is_sync and of_log for is_sync, of_log in more) / more_turns,
    }


def _groups(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.name, []).append(job)
    return groups


class _Room:
    """A folder, and a database if there is a server, both gone afterwards."""

    def __init__(self, parent: Path, server: str | None) -> None:
        self._parent, self._server = parent, server
        self._name = f"bench_{uuid.uuid4().hex[:12]}"

    def __enter__(self) -> Where:
        self._folder = Path(tempfile.mkdtemp(prefix="tk-bench-", dir=self._parent))
        return self._folder, create_database(self._server, self._name) if self._server else None

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._server:
            drop_database(self._server, self._name)


class _Databases:
    """An empty database for each of these contenders."""

    def __init__(self, names: Sequence[str], server: str | None) -> None:
        self._server = server
        self._names = {name: f"bench_{uuid.uuid4().hex[:12]}" for name in names}

    def __enter__(self) -> dict[str, str]:
        return {name: create_database(self._server or "", database) for name, database in self._names.items()}

    def __exit__(self, *_: object) -> None:
        for database in self._names.values():
            drop_database(self._server or "", database)
