"""Showing in the terminal why a run came out as it did."""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from turnkeeper.cli.local import local_file_of
from turnkeeper.cli.page import Page
from turnkeeper.cli.say import complain, counting, put_out
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.talk import TalkFailed, Told, talk_with_server
from turnkeeper.errors import TurnkeeperError
from turnkeeper.ledger.mermaid import as_mermaid
from turnkeeper.ledger.pictures import Tone, on_one_line, span, tone_of
from turnkeeper.ledger.tree import TreeLine, tree_lines
from turnkeeper.model.explanation import PREVIEW_CHARS
from turnkeeper.model.graph import EdgeType, Graph, NodeType
from turnkeeper.model.ids import TenantId
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.settings import Settings

STYLES = {
    Tone.GOOD: "green",
    Tone.DECLINED: "dark_orange",
    Tone.LACKING: "yellow",
    Tone.BAD: "red",
    Tone.IDLE: "bright_black",
    Tone.BUSY: "blue",
    Tone.PLAIN: "",
}
TO_OTHERS = {
    EdgeType.DERIVED_FROM: "from",
    EdgeType.NEEDS: "needs",
    EdgeType.COMPARES: "compares",
    EdgeType.CHALLENGES: "challenges",
}
MARGIN = 12
SHORTEST_LABEL = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the run is looked for: on a server, or in a database without one."""

    url: str | None
    token: str | None
    database: str | None
    tenant: str | None


def explain(run_id: str, source: Source, *, shape: str, full: bool) -> int:
    if source.database is not None and source.url is not None:
        return complain("Give --url to ask a server, or --database to look without one, but not both.")
    if source.tenant is not None and source.database is None:
        return complain("--tenant goes with --database; a server knows the tenant by the token.")
    try:
        told = _told_by_server(run_id, source) if source.database is None else _told_by_database(run_id, source)
    except ValueError as error:
        return complain(str(error))
    except (TalkFailed, TurnkeeperError) as failure:
        return complain(str(failure), code=1)
    if shape == "json":
        from turnkeeper.server.wire_explanations import SummaryOut

        kept = told if full else {name: told[name] for name in SummaryOut.model_fields}
        put_out(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
    elif shape == "mermaid":
        put_out(as_mermaid(graph_in(told)) + "\n")
    else:
        show(told, Console(highlight=False), full=full)
    return 0


def _told_by_server(run_id: str, source: Source) -> Told:
    with talk_with_server(source.url, source.token) as talk:
        return talk.explanation(run_id)


def _told_by_database(run_id: str, source: Source) -> Told:
    settings = own_settings(database=source.database)
    path = local_file_of(settings)
    if path is not None and not path.exists():
        raise ValueError(f"There is no database {path}. Name one with --database.")
    return asyncio.run(_looked_up(run_id, settings, source.tenant))


async def _looked_up(run_id: str, settings: Settings, tenant: str | None) -> Told:
    # Whoever can read the file can read all of it.
    who = LOCAL if tenant is None else Principal(tenant=TenantId(tenant), user=LOCAL.user, role=Role.OWNER)
    from turnkeeper.keeper import Turnkeeper
    from turnkeeper.server.wire_explanations import ExplanationOut

    async with Turnkeeper(settings).looking_in() as keeper:
        explained = await keeper.explained(run_id, principal=who)
    return ExplanationOut.in_full(explained).model_dump(mode="json", by_alias=True)


def graph_in(told: Told) -> Graph:
    """The graph as it was before it travelled."""
    graph = told["graph"]
    edges = [{"type": edge["type"], "source": edge["from"], "target": edge["to"]} for edge in graph["edges"]]
    return msgspec.convert({**graph, "edges": edges}, Graph)


def show(told: Told, console: Console, *, full: bool = False) -> None:
    """The outcome on top, then all that happened as a tree."""
    page = _Page(console)
    page.head(told)
    for name, value, style in _facts(told, full=full):
        page.fact(name, value, style)
    graph = graph_in(told)
    across = _across(graph, full=full)
    lines = list(tree_lines(graph, full=full))
    if lines:
        console.print()
    for line, following in zip_longest(lines, lines[1:]):
        if line.said is None:
            page.node(line)
            has_parts = following is not None and len(following.lead) > len(line.lead)
            page.edges(line, across.get(line.node.id, ()), has_parts=has_parts)
        elif line.node.type is not NodeType.STEP:
            # Why a step failed is why the run did, and stands above.
            page.detail(line, *line.said)
    if left_out := told["graph"]["left_out"]:
        console.print(Text(f"{counting(left_out, 'part was', 'parts were')} too many to keep.", style="dim"))


def _across(graph: Graph, *, full: bool) -> dict[str, list[tuple[str, str]]]:
    """How nodes belong together across the tree, in words at one of their ends; what was tried again, always."""
    nodes = {node.id: node for node in graph.nodes}
    found: dict[str, list[tuple[str, str]]] = {}
    for edge in graph.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        if edge.type is EdgeType.RETRY:
            found.setdefault(target.id, []).append(("instead of", f"{source.type} {source.label}"))
        elif full and edge.type is EdgeType.SPAWNED_FROM and source.type is NodeType.SEED:
            found.setdefault(target.id, []).append(("for", f"{source.type} {source.label}"))
        elif full and edge.type in TO_OTHERS:
            found.setdefault(source.id, []).append((TO_OTHERS[edge.type], f"{target.type} {target.label}"))
    return found


def _facts(told: Told, *, full: bool) -> Iterator[tuple[str, str, str]]:
    turn = f"turn {told['turn']} of {told['session_id']}" if told["turn"] else f"in {told['session_id']}"
    yield "where", turn, "dim"
    yield "when", told["at"].partition(".")[0].replace("T", " ").removesuffix("Z") + " UTC", "dim"
    if told["partial"]:
        yield "partial", "this is what its feed tells; what happened inside is not known, or not yet", "yellow"
    if told["asked"]:
        yield "asked", _cut(told["asked"]), ""
    if told["error"]:
        yield "error", f"{told['error']['message']} ({told['error']['code']})", "red"
    elif told["preview"]:
        yield "answer", _cut(told["preview"]), ""
    if told["answer_status"] not in (None, told["status"]):
        yield "outcome", told["answer_status"], STYLES[tone_of(told["answer_status"])]
    if told["plugins"]:
        yield "plugins", ", ".join(told["plugins"].values()), ""
    if told["model"]:
        yield "model", told["model"], ""
    if told["level"] is not None:
        yield "level", str(told["level"]), ""
    yield from _changed(told["units"], full=full)
    if told["warnings"]:
        yield "warnings", ", ".join(told["warnings"]), "yellow"


def _cut(text: str) -> str:
    """With a sign where only the beginning was kept."""
    return f"{text.rstrip()}…" if len(text) >= PREVIEW_CHARS else text


def _changed(units: Told, *, full: bool) -> Iterator[tuple[str, str, str]]:
    """What became of units: how many, or each of them."""
    if units and not full:
        yield "units", ", ".join(f"{len(which)} {what.replace('_', ' ')}" for what, which in units.items()), ""
        return
    for what, which in units.items():
        for each in which:
            yield what.replace("_", " "), _named(each), ""


def _named(unit: Any) -> str:
    match unit:
        case {"unit": old, "by": new}:
            return f"{old} by {new}"
        case {"content": content, "reason": reason}:
            return f"{content} ({reason})"
    return str(unit)


class _Page(Page):
    def head(self, told: Told) -> None:
        status = Text(on_one_line(told["status"]).replace("_", " "), style=f"bold {STYLES[tone_of(told['status'])]}")
        took = span(max((stage["began_us"] + stage["took_us"] for stage in told["stages"]), default=0))
        self.line(Text.assemble(("run ", "bold"), on_one_line(told["run_id"]), "  ", status, (f"  {took}", "dim")))

    def fact(self, name: str, value: str, style: str) -> None:
        self.hanging(Text(f"{name:<{MARGIN}}", style="dim"), " " * MARGIN, on_one_line(value), style)

    def node(self, line: TreeLine) -> None:
        style = STYLES[tone_of(line.node.status)]
        tail = Text()
        if line.status:
            tail.append(f"  {line.status}", style)
        tail.append(f"  {line.took}" if line.took else "", "dim")
        head = Text.assemble((line.lead, "dim"), (f"{line.kind} " if line.kind else "", "dim"))
        label = Text(line.label)
        room = self._width - head.cell_len - tail.cell_len
        # What a decision was made of is never cut off: each of it has a line where one is too short for all.
        facts = line.facts if label.cell_len > room else []
        if facts:
            label = Text(on_one_line(line.node.label))
        label.truncate(max(room, SHORTEST_LABEL), overflow="ellipsis")
        self.line(Text.assemble(head, label, tail))
        for name, value in facts:
            self._said(line.below + "  ", on_one_line(name), on_one_line(value), "")

    def edges(self, line: TreeLine, edges: Iterable[tuple[str, str]], *, has_parts: bool) -> None:
        for name, other in edges:
            self._said(line.below + ("│  " if has_parts else "   "), name, on_one_line(other), "")

    def detail(self, line: TreeLine, name: str, said: str) -> None:
        if self.is_on_a_terminal:
            # JSON has no spaces to break it at, and an id that is broken cannot be copied.
            said = re.sub(r'([,:])(?=["\[{])', r"\1 ", said)
        self._said(line.lead, name, said, "red" if name == "error" else "dim")

    def _said(self, lead: str, name: str, said: str, style: str) -> None:
        first = Text.assemble((lead, "dim"), (f"{name}: ", style or "dim"))
        self.hanging(first, lead + " " * (len(name) + 2), said, style)
