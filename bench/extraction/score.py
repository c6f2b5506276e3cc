"""What an extractor finds in labelled messages, counted: right, wrong, and missed.

Nothing here shows a sentence: the half that the rules must not see is only ever known by its totals.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from turnkeeper.model.ids import UnitId
from turnkeeper.model.names import name_key
from turnkeeper.model.unit import Unit, UnitRole
from turnkeeper.ports.extractor import Extractor

HERE = Path(__file__).resolve().parent
# "seen_more" was labelled when the rules stood already, and they have grown with it since: it belongs to the seen half.
HALVES = ("seen", "seen_more", "unseen")
SAME_CONTENT = 0.6

_WORD = re.compile(r"\w+")

Labelled = Mapping[str, Any]


@dataclass(slots=True)
class Tally:
    """How many units were right, how many were said to be there, and how many are there."""

    right: int = 0
    found: int = 0
    labelled: int = 0

    @property
    def precision(self) -> float | None:
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        return self.right / self.labelled if self.labelled else None

    @property
    def f1(self) -> float | None:
        return 2 * self.right / (self.found + self.labelled) if self.found + self.labelled else None


@dataclass(slots=True)
class Score:
    """The totals of some messages. `among_right` counts, for units that are right, how often a part of them is too."""

    messages: int = 0
    roles: dict[str, Tally] = field(default_factory=lambda: {role.value: Tally() for role in UnitRole})
    whatever_role: Tally = field(default_factory=Tally)
    triples: Tally = field(default_factory=Tally)
    among_right: Counter[str] = field(default_factory=Counter)
    corrections: Tally = field(default_factory=Tally)
    empty: Tally = field(default_factory=Tally)

    @property
    def overall(self) -> Tally:
        tallies = self.roles.values()
        return Tally(sum(t.right for t in tallies), sum(t.found for t in tallies), sum(t.labelled for t in tallies))


def messages_of(half: str) -> list[Labelled]:
    lines = (HERE / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def score_of(extractor: Extractor, messages: Iterable[Labelled]) -> Score:
    score = Score()
    for message in messages:
        known = earlier(extractor, message.get("before", ()))
        found = extractor.extract(message["text"], known=known).units
        _count(score, message["units"], found, known)
    return score


def earlier(extractor: Extractor, texts: Sequence[str]) -> tuple[Unit, ...]:
    """What was known before, the newest first."""
    known: list[Unit] = []
    for turn, text in enumerate(texts):
        for unit in extractor.extract(text, known=tuple(known)).units:
            known.insert(0, replace(unit, id=UnitId(f"session::{turn}::{unit.id}")))
    return tuple(known)


def _count(score: Score, labelled: Sequence[Labelled], found: Sequence[Unit], known: Sequence[Unit]) -> None:
    score.messages += 1
    if not labelled:
        score.empty.labelled += 1
        score.empty.right += not found
    for label in labelled:
        score.roles[label["role"]].labelled += 1
    for unit in found:
        score.roles[unit.role.value].found += 1
    score.whatever_role.labelled += len(labelled)
    score.whatever_role.found += len(found)
    score.whatever_role.right += len(pairs(labelled, found, same_role=False))
    for label, unit in pairs(labelled, found):
        score.roles[unit.role.value].right += 1
        score.among_right["scopes"] += set(label["scopes"]) == {scope.value for scope in unit.phase_scopes}
        score.among_right["lifetime"] += label["lifetime"] == unit.lifetime.value
        score.triples.labelled += "triple" in label
        score.triples.found += unit.relation is not None
        score.triples.right += "triple" in label and _key(label["triple"]) == triple_key(unit)
    by_id = {unit.id: unit for unit in known}
    corrected = [by_id[unit.supersedes].content for unit in found if unit.supersedes in by_id]
    wanted = [label["supersedes"] for label in labelled if "supersedes" in label]
    score.corrections.labelled += len(wanted)
    score.corrections.found += len(corrected)
    score.corrections.right += sum(any(likeness(old, one) >= SAME_CONTENT for one in corrected) for old in wanted)


def pairs(
    labelled: Sequence[Labelled], found: Sequence[Unit], *, same_role: bool = True
) -> list[tuple[Labelled, Unit]]:
    """Labels and the units that say the same, the most alike first; each is used once."""
    alike = sorted(
        (
            (-likeness(label["claim"], unit.content), first, second)
            for first, label in enumerate(labelled)
            for second, unit in enumerate(found)
            if not same_role or label["role"] == unit.role.value
        ),
    )
    taken: list[tuple[Labelled, Unit]] = []
    labels_left, units_left = set(range(len(labelled))), set(range(len(found)))
    for unlike, first, second in alike:
        if -unlike >= SAME_CONTENT and first in labels_left and second in units_left:
            labels_left.remove(first)
            units_left.remove(second)
            taken.append((labelled[first], found[second]))
    return taken


def likeness(one: str, other: str) -> float:
    """F1 over the words, without case and punctuation."""
    mine, theirs = (
        Counter(_WORD.findall(text.casefold().replace("'", "").replace("\u2019", ""))) for text in (one, other)
    )
    total = mine.total() + theirs.total()
    return 2 * (mine & theirs).total() / total if total else 1.0


def triple_key(unit: Unit) -> tuple[str, ...] | None:
    if unit.subject is None or unit.relation is None or unit.object is None:
        return None
    return _key((unit.subject, unit.relation.value, unit.object))


def _key(triple: Sequence[str]) -> tuple[str, ...]:
    return tuple(name_key(part) for part in triple)
