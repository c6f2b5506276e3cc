"""What we promised, and whether it was kept."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.contenders import ENTRIES
from bench.work import TURN_CHARS

Medians = Mapping[str, Mapping[str, Mapping[str, Any]]]

TIMES_TEXT = 4
MOST_EXPLANATION_BYTES = 1_536
KEPT_TABLES = ("messages", "turns", "runs", "feed", "audit", "sessions", "leases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One target on one database. `kept` is None when it was not measured."""

    title: str
    database: str
    wanted: str
    measured: str
    kept: bool | None


def verdicts(medians: Medians, *, full: bool) -> list[Verdict]:
    """Length and bytes are judged on a full run only: pages that are half empty weigh less in a long session."""
    return [verdict for judge in _JUDGES for verdict in judge(_Numbers(medians, full))]


class _Numbers:
    def __init__(self, medians: Medians, full: bool) -> None:
        self._medians, self.full = medians, full

    def of(self, scenario: str, contender: str, *path: str) -> Any:
        """The number, or None when it was not measured."""
        found: Any = self._medians.get(scenario, {}).get(contender)
        for name in path:
            found = None if found is None else found.get(name)
        return found

    def peers(self, scenario: str, database: str, name: str) -> dict[str, float]:
        """What the peers on this database gave."""
        found = self._medians.get(scenario, {})
        entries = [entry for entry in ENTRIES.values() if entry.is_peer and entry.database == database]
        return {entry.title: found[entry.name][name] for entry in entries if entry.name in found}


_Judge = Callable[[_Numbers], Iterator[Verdict]]


def _verdict(title: str, database: str, wanted: str, measured: str | None, kept: bool | None) -> Verdict:
    if measured is None:
        return Verdict(title=title, database=database, wanted=wanted, measured="not measured", kept=None)
    return Verdict(title=title, database=database, wanted=wanted, measured=measured, kept=kept)


def _store_level(numbers: _Numbers) -> Iterator[Verdict]:
    for database, most in (("sqlite", 2.0), ("postgres", 1.5)):
        times = numbers.of("one_turn", f"{database}:store", "times", f"{database}:raw-rows")
        measured = None if times is None else f"{times:.2f} x"
        title = "store level, one turn: p50"
        yield _verdict(title, database, f"≤ {most} x bare, same rows", measured, times is not None and times <= most)


def _whole_turn(numbers: _Numbers) -> Iterator[Verdict]:
    for database, most in (("sqlite", 4.0), ("postgres", 3.0)):
        times = numbers.of("one_turn", f"{database}:turnkeeper", "times", f"{database}:raw")
        measured = None if times is None else f"{times:.2f} x"
        title = "whole turn, embedded API: p50"
        yield _verdict(title, database, f"≤ {most} x bare turn", measured, times is not None and times <= most)


def _many_at_store_level(numbers: _Numbers) -> Iterator[Verdict]:
    title = "64 sessions at once, store level"
    speed = numbers.of("at_once/64", "sqlite:store", "turns_per_s")
    bare = numbers.of("at_once/64", "sqlite:raw-group-rows", "turns_per_s")
    share = numbers.of("at_once/64", "sqlite:store", "slowest_to_fastest")
    if speed is None or bare is None:
        yield _verdict(title, "sqlite", "≥ 0.4 x bare group commit", None, None)
    else:
        measured = f"{speed / bare:.2f} x ({speed:,.0f}/s), slowest {share:.2f} of fastest"
        wanted = "≥ 0.4 x bare group commit, slowest ≥ 0.8 of fastest"
        yield _verdict(title, "sqlite", wanted, measured, speed >= 0.4 * bare and share >= 0.8)
    speed = numbers.of("at_once/64", "postgres:store", "turns_per_s")
    bare = numbers.of("at_once/64", "postgres:raw-rows", "turns_per_s")
    wanted = "≥ 1,500/s or 0.8 x bare"
    if speed is None or bare is None:
        yield _verdict(title, "postgres", wanted, None, None)
    else:
        measured = f"{speed:,.0f}/s, {speed / bare:.2f} x"
        yield _verdict(title, "postgres", wanted, measured, speed >= 1_500 or speed >= 0.8 * bare)


def _many_whole_turns(numbers: _Numbers) -> Iterator[Verdict]:
    title = "64 sessions at once, whole turn"
    speed = numbers.of("at_once/64", "sqlite:turnkeeper", "turns_per_s")
    rival = numbers.of("at_once/64", "sqlite:openai", "turns_per_s")
    measured = None if None in (speed, rival) else f"{speed:,.0f}/s against {rival:,.0f}/s"
    yield _verdict(title, "sqlite", "≥ OpenAI SQLiteSession", measured, measured is not None and speed >= rival)
    speed = numbers.of("at_once/64", "postgres:turnkeeper", "turns_per_s")
    rivals = numbers.peers("at_once/64", "postgres", "turns_per_s")
    best = max(rivals.values(), default=None)
    measured = None if speed is None or best is None else f"{speed:,.0f}/s against {best:,.0f}/s"
    yield _verdict(title, "postgres", "> every peer", measured, best is not None and speed is not None and speed > best)


def _writers(numbers: _Numbers) -> Iterator[Verdict]:
    for database in ("sqlite", "postgres"):
        found = numbers.of("writers", f"{database}:turnkeeper")
        measured, kept = None, None
        if found is not None:
            faults = [found[name] for name in ("lost_messages", "half_turns", "split_turns", "counter_off_by")]
            lost, half, split, off = faults
            measured = f"{found['acknowledged']:.0f}/{found['asked']:.0f}; {lost:.0f} lost, {split:.0f} split, "
            measured += f"{half:.0f} half; counter off by {off:.0f}"
            kept = found["acknowledged"] == found["asked"] and not any(faults)
        yield _verdict("8 writers on one session", database, "all; 0 lost, split, half; counter exact", measured, kept)


def _length(numbers: _Numbers) -> Iterator[Verdict]:
    for database in ("sqlite", "postgres"):
        times = numbers.of("length", f"{database}:turnkeeper", "times") if numbers.full else None
        measured = None if times is None else f"{times:.2f} x"
        title = "5,000 turns against 1,000: p50"
        yield _verdict(title, database, "≤ 1.3 x", measured, times is not None and times <= 1.3)


def _bytes(numbers: _Numbers) -> Iterator[Verdict]:
    for database in ("sqlite", "postgres"):
        tables = numbers.of("growth", f"{database}:turnkeeper", "bytes_per_turn_of") if numbers.full else None
        size = None if tables is None else sum(tables.get(table, 0) for table in KEPT_TABLES)
        measured = None if size is None else f"{size / TURN_CHARS:.2f} x ({size:,.0f} bytes a turn)"
        title = "bytes: messages, state, run, feed, audit"
        kept = size is not None and size <= TIMES_TEXT * TURN_CHARS
        yield _verdict(title, database, f"≤ {TIMES_TEXT} x the text", measured, kept)
        explained = numbers.of("growth", f"{database}:turnkeeper", "explanation_bytes")
        measured = None if explained is None else f"{explained:,.0f} bytes"
        kept = explained is not None and explained <= MOST_EXPLANATION_BYTES
        yield _verdict("bytes: Explanation of a trivial turn", database, "≤ 1.5 KB", measured, kept)


def _counted(numbers: _Numbers) -> Iterator[Verdict]:
    syncs = numbers.of("counted", "sqlite:turnkeeper", "syncs")
    measured = None
    if syncs is not None:
        of_checkpoints = numbers.of("counted", "sqlite:turnkeeper", "checkpoint_syncs")
        measured = f"{syncs:.2f} (and {of_checkpoints:.3f} by checkpoints)"
    yield _verdict("syncs of a whole turn", "sqlite", "exactly 2", measured, syncs == 2)
    trips = numbers.of("counted", "postgres:turnkeeper", "round_trips")
    hints = numbers.of("counted", "postgres:turnkeeper", "round_trips_of_hints")
    measured = None if trips is None else f"{trips:.2f} (and {hints:.2f} for hints that no turn waits for)"
    yield _verdict("round trips of a whole turn", "postgres", "3", measured, trips is not None and trips <= 3)


def _processes(numbers: _Numbers) -> Iterator[Verdict]:
    for database in ("sqlite", "postgres"):
        found = numbers.of("processes", f"{database}:turnkeeper")
        ratio = None if found is None else found["ratio"]
        measured = None if found is None else f"{ratio:.2f} ({found['slower']:,.0f}/s and {found['faster']:,.0f}/s)"
        title = "2 processes, 32 sessions each"
        yield _verdict(title, database, "slower ≥ 0.5 of faster", measured, ratio is not None and ratio >= 0.5)


def _against_peers(numbers: _Numbers) -> Iterator[Verdict]:
    for database in ("sqlite", "postgres"):
        speed = numbers.of("create", f"{database}:turnkeeper", "sessions_per_s")
        rivals = numbers.peers("create", database, "sessions_per_s")
        best = max(rivals, key=lambda title: rivals[title], default=None)
        measured = None
        if speed is not None and best is not None:
            measured = f"{speed:,.0f}/s against {rivals[best]:,.0f}/s ({best})"
        kept = measured is not None and best is not None and speed > rivals[best]
        yield _verdict("create session", database, "> every durable peer", measured, kept)
        cold = numbers.of("cold_open", f"{database}:turnkeeper", "cold_ms")
        rivals = numbers.peers("cold_open", database, "cold_ms")
        best = min(rivals, key=lambda title: rivals[title], default=None)
        measured = None
        if cold is not None and best is not None:
            measured = f"{cold:.1f} ms against {rivals[best]:.1f} ms ({best})"
        kept = measured is not None and best is not None and cold < rivals[best]
        yield _verdict("cold open, newest 20 of 1,000 turns", database, "< every durable peer", measured, kept)


_JUDGES: tuple[_Judge, ...] = (
    _store_level,
    _whole_turn,
    _many_at_store_level,
    _many_whole_turns,
    _writers,
    _length,
    _bytes,
    _counted,
    _processes,
    _against_peers,
)
