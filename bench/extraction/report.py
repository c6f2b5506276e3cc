"""The scores of both halves as tables, the seen one in two parts: in the terminal, in bench/README.md, and as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from bench import report
from bench.extraction.score import HALVES, HERE, Score, Tally, messages_of, score_of
from bench.report import Table
from turnkeeper.ports.extractor import Extractor

BEGIN, END = "<!-- extraction begin: written by `./dev bench extraction` -->", "<!-- extraction end -->"
WANTED_PRECISION, WANTED_RECALL = 0.9, 0.75
TITLES = {
    "seen": "the half that the rules were made with",
    "seen_more": "seen, more: what the rules grew with later",
    "unseen": "the half that the rules have never seen",
}


def run(extractor: Extractor) -> None:
    scores = {half: score_of(extractor, messages_of(half)) for half in HALVES}
    every = [table for half in HALVES for table in (_roles(half, scores[half]), _parts(half, scores[half]))]
    for table in every:
        report.show(table)
    write(scores, every)


def _roles(half: str, score: Score) -> Table:
    rows = [(role, *_figures(tally)) for role, tally in score.roles.items()]
    rows.append(("all roles", *_figures(score.overall)))
    rows.append(("whatever the role", *_figures(score.whatever_role)))
    head = ("role", "labelled", "found", "right", "precision", "recall", "F1")
    return Table(f"Units, {TITLES[half]} ({score.messages} messages)", head, rows)


def _parts(half: str, score: Score) -> Table:
    right = score.overall.right
    rows = [
        ("triples, in units that are right", *_figures(score.triples)),
        ("units superseded", *_figures(score.corrections)),
    ]
    rows += [
        (
            f"{part} of units that are right",
            str(right),
            "-",
            str(score.among_right[part]),
            "-",
            _share(Tally(right=score.among_right[part], labelled=right).recall),
            "-",
        )
        for part in ("scopes", "lifetime")
    ]
    empty = score.empty
    rows.append(("messages without a unit", str(empty.labelled), "-", str(empty.right), "-", _share(empty.recall), "-"))
    return Table(f"Parts, {TITLES[half]}", ("part", "labelled", "found", "right", "precision", "recall", "F1"), rows)


def _figures(tally: Tally) -> tuple[str, ...]:
    counts = (str(tally.labelled), str(tally.found), str(tally.right))
    return (*counts, _share(tally.precision), _share(tally.recall), _share(tally.f1))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def write(scores: Mapping[str, Score], tables: list[Table]) -> None:
    figures = {half: _as_json(score) for half, score in scores.items()}
    (HERE / "results.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    overall = scores["unseen"].overall
    kept = (overall.precision or 0) >= WANTED_PRECISION and (overall.recall or 0) >= WANTED_RECALL
    verdict = (
        f"Wanted on the unseen half: precision {WANTED_PRECISION}, recall {WANTED_RECALL}. Measured: "
        f"{_share(overall.precision)} and {_share(overall.recall)}, {'kept' if kept else '**MISSED**'}."
    )
    parts = [verdict, *(f"### {table.title}\n\n{report.markdown_table(table)}" for table in tables)]
    report.write_part(BEGIN, END, "\n\n".join(parts) + "\n")


def _as_json(score: Score) -> dict[str, Any]:
    tallies = {**score.roles, "all": score.overall, "whatever_role": score.whatever_role}
    tallies |= {"triples": score.triples, "superseded": score.corrections}
    return {
        "messages": score.messages,
        **{name: {"labelled": t.labelled, "found": t.found, "right": t.right} for name, t in tallies.items()},
        "among_right": dict(score.among_right),
        "without_units": {"labelled": score.empty.labelled, "right": score.empty.right},
    }
