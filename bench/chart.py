"""Horizontal bars as SVG, readable on light and on dark pages, without a charting library."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from bench.contenders import ENTRIES, Entry

WIDTH = 920
LABELS = 270
BAR, GAP = 18, 9
NUMBERS = 110
TITLE_HEIGHT, PANEL_GAP = 58, 26
MARGIN = 24

_STYLE = """
  .page { fill: #ffffff; } .title { fill: #1b1f24; } .label { fill: #424a53; } .note { fill: #6e7781; }
  .grid { stroke: #d8dee4; } .ours { fill: #0b7a75; } .bare { fill: #8c959f; } .peer { fill: #c9a227; }
  .value { fill: #1b1f24; }
  text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .title, .value { fill: #e6edf3; } .label { fill: #b1bac4; } .note { fill: #8b949e; }
    .grid { stroke: #30363d; } .ours { fill: #2cc4b8; } .bare { fill: #6e7681; } .peer { fill: #d9b44a; }
  }
"""

_SHOWN = {
    "sqlite": (
        "raw",
        "raw-group",
        "turnkeeper",
        "openai",
        "langgraph",
        "langgraph-async",
        "adk-sqlite",
        "adk-database",
    ),
    "postgres": ("raw", "raw-psycopg", "turnkeeper", "openai", "langgraph", "adk-database"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    kind: str
    value: float
    shown: str


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    note: str
    bars: Sequence[Bar]

    @property
    def height(self) -> float:
        return TITLE_HEIGHT + len(self.bars) * (BAR + GAP)


Medians = Mapping[str, Mapping[str, Mapping[str, Any]]]


def chart(medians: Medians) -> str:
    panels = [panel for panel in _panels(medians) if panel.bars]
    height = MARGIN * 2 + sum(panel.height + PANEL_GAP for panel in panels) - PANEL_GAP + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" aria-label="Turns of turnkeeper, of bare databases and of peers">',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height:.0f}" rx="10"/>',
        _legend(MARGIN),
    ]
    top = MARGIN + 30.0
    for panel in panels:
        parts.append(_draw(panel, top))
        top += panel.height + PANEL_GAP
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panels(medians: Medians) -> list[Panel]:
    names = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
    panels = []
    for database, name in names.items():
        panels.append(
            Panel(
                f"{name}: one durable turn, as a multiple of the bare database's",
                "shorter is better",
                _bars(medians, "one_turn", database, _times, lambda v: f"{v:.1f} x", grows=True),
            )
        )
    for database, name in names.items():
        panels.append(
            Panel(
                f"{name}: 64 sessions at once, turns per second",
                "longer is better",
                _bars(
                    medians, "at_once/64", database, lambda n: n["turns_per_s"], lambda v: f"{v:,.0f}/s", grows=False
                ),
            )
        )
    return panels


def _times(numbers: Mapping[str, Any]) -> float:
    """Against the bare turn; the bare turn itself has nobody to be compared with."""
    times = [found for name, found in numbers["times"].items() if name.endswith(":raw")]
    return float(times[0]) if times else 1.0


def _bars(
    medians: Medians,
    scenario: str,
    database: str,
    value_of: Callable[[Mapping[str, Any]], float],
    show: Callable[[float], str],
    *,
    grows: bool,
) -> list[Bar]:
    found = medians.get(scenario, {})
    entries = [ENTRIES[f"{database}:{name}"] for name in _SHOWN[database] if f"{database}:{name}" in found]
    bars = [
        Bar(entry.title, _kind(entry), value, show(value))
        for entry in entries
        for value in (value_of(found[entry.name]),)
    ]
    return sorted(bars, key=lambda bar: bar.value, reverse=not grows)


def _kind(entry: Entry) -> str:
    return "peer" if entry.is_peer else "ours" if entry.title.startswith("turnkeeper") else "bare"


def _draw(panel: Panel, top: float) -> str:
    most = max(bar.value for bar in panel.bars)
    room = WIDTH - LABELS - NUMBERS - 2 * MARGIN
    left = MARGIN + LABELS

    def length(value: float) -> float:
        return room * value / most

    parts = [
        f'<text class="title" x="{MARGIN}" y="{top + 18:.0f}" font-size="16" font-weight="600">'
        f"{escape(panel.title)}</text>",
        f'<text class="note" x="{MARGIN}" y="{top + 37:.0f}" font-size="12">{escape(panel.note)}</text>',
    ]
    bottom = top + panel.height - GAP
    for tick in ticks(most):
        x = left + length(tick)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" y1="{top + TITLE_HEIGHT - 8:.0f}" x2="{x:.1f}" y2="{bottom:.0f}"/>'
        )
        parts.append(
            f'<text class="note" x="{x:.1f}" y="{top + TITLE_HEIGHT - 11:.0f}" font-size="10" '
            f'text-anchor="middle">{tick:,g}</text>'
        )
    for place, bar in enumerate(panel.bars):
        y = top + TITLE_HEIGHT + place * (BAR + GAP)
        wide = max(2.0, length(bar.value))
        weight = ' font-weight="600"' if bar.kind == "ours" else ""
        parts.append(
            f'<text class="label" x="{left - 10}" y="{y + 13:.0f}" font-size="13" text-anchor="end"{weight}>'
            f"{escape(bar.label)}</text>"
        )
        parts.append(f'<rect class="{bar.kind}" x="{left}" y="{y:.0f}" width="{wide:.1f}" height="{BAR}" rx="3"/>')
        parts.append(
            f'<text class="value" x="{left + wide + 8:.1f}" y="{y + 13:.0f}" font-size="13"{weight}>{bar.shown}</text>'
        )
    return "\n".join(parts)


def ticks(most: float) -> list[float]:
    """Three to seven round numbers from zero."""
    step = 10.0 ** math.floor(math.log10(most))
    for divided in (step / 5, step / 2, step, 2 * step):
        if most / divided <= 7:
            return [divided * place for place in range(int(most / divided) + 1)]
    return [0.0]


def _legend(top: int) -> str:
    parts, x = [], MARGIN
    for kind, text in (("ours", "turnkeeper"), ("bare", "bare database"), ("peer", "peers")):
        parts.append(f'<rect class="{kind}" x="{x}" y="{top - 10}" width="12" height="12" rx="2"/>')
        parts.append(f'<text class="label" x="{x + 18}" y="{top}" font-size="12">{text}</text>')
        x += 40 + 7 * len(text)
    return "\n".join(parts)
