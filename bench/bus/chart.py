"""Two panels as SVG, narrow enough for a phone: how long a round trip takes, and how much comes through."""

import math
import statistics
from html import escape

from bench.bus.measure import Measured
from bench.bus.serving import BARE, ORCHESTRATED, OURS, PATCHED, SHIPPED, UNGUARDED

WIDTH, MARGIN = 480, 20
ROOM = WIDTH - 2 * MARGIN
ROW, BAR = 46, 14

TITLES = {
    OURS: "turnkeeper",
    UNGUARDED: "turnkeeper, guard off",
    ORCHESTRATED: "turnkeeper, with a round in each session",
    BARE: "bare websockets relay",
    PATCHED: "stock bus with TCP_NODELAY",
    SHIPPED: "stock bus as shipped",
}
_KINDS = {OURS: "ours", UNGUARDED: "ours", BARE: "bare", PATCHED: "peer", SHIPPED: "peer"}

_STYLE = """
  .page { fill: #ffffff; } .title, .value { fill: #1b1f24; } .label { fill: #424a53; } .note { fill: #6e7781; }
  .ours { fill: #0b7a75; } .bare { fill: #8c959f; } .peer { fill: #c9a227; }
  text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .title, .value { fill: #e6edf3; } .label { fill: #b1bac4; } .note { fill: #8b949e; }
    .ours { fill: #2cc4b8; } .bare { fill: #6e7681; } .peer { fill: #d9b44a; }
  }
"""


def chart(measured: Measured) -> str:
    trips = {name: series.trip(0.5) for name, series in measured.relays.items()}
    speeds = {name: statistics.median(series.per_second) for name, series in measured.relays.items()}
    upper, middle = _panel(
        "One round trip over the bus, p50",
        "shorter is better; the scale is logarithmic",
        {name: (math.log10(value / 0.05), f"{value:,.2f} ms") for name, value in trips.items()},
        top=MARGIN,
    )
    lower, height = _panel(
        "Messages a second, one way to two clients",
        "longer is better",
        {name: (value, f"{value:,.0f}") for name, value in speeds.items()},
        top=middle + 14,
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
            f'height="{height:.0f}" role="img" aria-label="Round trips and messages a second over four relays">',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height:.0f}" rx="10"/>',
            *upper,
            *lower,
            "</svg>\n",
        ]
    )


def _panel(title: str, note: str, bars: dict[str, tuple[float, str]], *, top: float) -> tuple[list[str], float]:
    parts = [
        _text("title", MARGIN, top + 16, title, size=16, more=' font-weight="600"'),
        _text("note", MARGIN, top + 37, note, size=13),
    ]
    most = max(length for length, _ in bars.values())
    y = top + 48
    for name, (length, shown) in bars.items():
        bold = ' font-weight="600"' if name == OURS else ""
        parts.append(_text("label", MARGIN, y + 14, TITLES[name], more=bold))
        parts.append(_text("value", WIDTH - MARGIN, y + 14, shown, size=13, more=' text-anchor="end"'))
        wide = max(2.0, ROOM * length / most)
        kind = _KINDS[name]
        parts.append(f'<rect class="{kind}" x="{MARGIN}" y="{y + 20:.0f}" width="{wide:.1f}" height="{BAR}" rx="3"/>')
        y += ROW
    return parts, y + MARGIN / 2


def _text(kind: str, x: float, y: float, said: str, *, size: int = 14, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}"{more}>{escape(said)}</text>'
