"""Two panels as SVG, narrow enough for a phone: who takes in how fast, and what a stalled reader does to others."""

from collections.abc import Callable, Mapping
from html import escape

from bench.acceptance.measure import Measured, Series
from bench.chart import ticks

WIDTH, MARGIN = 480, 20
ROOM = WIDTH - 2 * MARGIN
ROW, BAR = 58, 16
CURVES_HEIGHT = 190
CURVES_LEFT = MARGIN + 42
POINTS = 100

PARTS = (0.5, 0.95, 0.99)
TITLES = {
    "ours": "turnkeeper",
    "plain": "bare route, plain commit",
    "group": "bare route, group commit",
    "alone": "nobody streams",
    "reader": "one stream, read",
    "stalled": "one stream, stalled",
}

_STYLE = """
  .page { fill: #ffffff; } .title, .value { fill: #1b1f24; } .label { fill: #424a53; } .note { fill: #6e7781; }
  .grid { stroke: #d8dee4; } .ours { fill: #0b7a75; } .plain, .group { fill: #8c959f; }
  .alone { stroke: #8c959f; } .reader { stroke: #c9a227; } .stalled { stroke: #0b7a75; }
  .curve { fill: none; stroke-width: 2.5; stroke-linejoin: round; } .dashed { stroke-dasharray: 7 4; }
  text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .title, .value { fill: #e6edf3; } .label { fill: #b1bac4; } .note { fill: #8b949e; }
    .grid { stroke: #30363d; } .ours { fill: #2cc4b8; } .plain, .group { fill: #6e7681; }
    .alone { stroke: #8b949e; } .reader { stroke: #d9b44a; } .stalled { stroke: #2cc4b8; }
  }
"""


def chart(measured: Measured, *, clients: int, talkers: int) -> str:
    upper, middle = _percentiles(measured.accepting, clients, top=MARGIN)
    lower, height = _curves(measured.chatting, talkers, top=middle + 24)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
            f'height="{height:.0f}" role="img" aria-label="Latencies of acceptance, and of chats beside a stream">',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{height:.0f}" rx="10"/>',
            *upper,
            *lower,
            "</svg>\n",
        ]
    )


def _text(kind: str, x: float, y: float, said: str, *, size: int = 14, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}"{more}>{escape(said)}</text>'


def _head(title: str, note: str, top: float) -> list[str]:
    bold = ' font-weight="600"'
    return [_text("title", MARGIN, top + 16, title, size=16, more=bold), _text("note", MARGIN, top + 37, note, size=13)]


def figures(series: Series) -> str:
    told = " · ".join(f"p{part * 100:.0f} {series.at(part):,.0f}" for part in PARTS)
    return f"{told} ms"


def _percentiles(accepting: Mapping[str, Series], clients: int, *, top: float) -> tuple[list[str], float]:
    parts = _head(f"Until an envelope is durably taken in, {clients} clients", "dark to p50, paler to p95 and p99", top)
    most = max(series.at(PARTS[-1]) for series in accepting.values())
    y = top + 52
    for name, series in accepting.items():
        bold = ' font-weight="600"' if name == "ours" else ""
        parts.append(_text("label", MARGIN, y + 14, TITLES[name], more=bold))
        for part, opacity in zip(reversed(PARTS), (0.3, 0.5, 1.0), strict=True):
            wide = max(2.0, ROOM * series.at(part) / most)
            parts.append(
                f'<rect class="{name}" x="{MARGIN}" y="{y + 20:.0f}" width="{wide:.1f}" height="{BAR}" rx="3" '
                f'fill-opacity="{opacity}"/>'
            )
        parts.append(_text("value", WIDTH - MARGIN, y + 14, figures(series), size=13, more=' text-anchor="end"'))
        y += ROW
    return parts, y


def _curves(chatting: Mapping[str, Series], talkers: int, *, top: float) -> tuple[list[str], float]:
    """Which part of the answers was there after how long, up to p99 of the slowest."""
    parts = _head(f"{talkers} clients chat beside a stream", "part of their answers that is there after so long", top)
    most = max(series.at(PARTS[-1]) for series in chatting.values())
    below = top + 54 + CURVES_HEIGHT
    wide = WIDTH - MARGIN - CURVES_LEFT

    def x(milliseconds: float) -> float:
        return CURVES_LEFT + wide * milliseconds / most

    def y(part: float) -> float:
        return below - CURVES_HEIGHT * part

    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(
            f'<line class="grid" x1="{CURVES_LEFT}" y1="{y(part):.1f}" x2="{WIDTH - MARGIN}" y2="{y(part):.1f}"/>'
        )
        parts.append(
            _text("note", CURVES_LEFT - 6, y(part) + 4, f"{part * 100:.0f} %", size=12, more=' text-anchor="end"')
        )
    for tick in ticks(most):
        parts.append(_text("note", x(tick), below + 18, f"{tick:,g} ms", size=12, more=' text-anchor="middle"'))
    row = below + 44
    for name, series in chatting.items():
        dashed = " dashed" if name == "stalled" else ""
        parts.append(f'<path class="curve {name}{dashed}" d="{_path(series, x, y, most)}"/>')
        parts.append(f'<path class="curve {name}{dashed}" d="M{MARGIN} {row - 5:.0f} h26"/>')
        parts.append(_text("label", MARGIN + 34, row, TITLES[name]))
        parts.append(_text("value", WIDTH - MARGIN, row, figures(series), size=13, more=' text-anchor="end"'))
        row += 24
    return parts, row - 24 + MARGIN


def _path(series: Series, x: Callable[[float], float], y: Callable[[float], float], most: float) -> str:
    steps = [*(step / POINTS for step in range(1, POINTS)), PARTS[-1]]
    points = [(x(series.at(part)), y(part)) for part in steps if series.at(part) <= most]
    return "M" + " L".join(f"{across:.1f} {up:.1f}" for across, up in [(x(0), y(0)), *points])
