"""The client has the verbs of the embedded face, and reaches every route; what differs is listed with its reason."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from turnkeeper import Turnkeeper, errors
from turnkeeper.client import MemoryKeep, Retries
from turnkeeper.client import Turnkeeper as RemoteTurnkeeper
from turnkeeper.client.artifacts import Artifact
from turnkeeper.client.part import Part
from turnkeeper.client.shapes import Run, Session, Ticket, read
from turnkeeper.keeping.scoping import Wanted
from turnkeeper.model import artifact as model_artifact
from turnkeeper.model import run as model_run
from turnkeeper.model import session as model_session
from turnkeeper.model.binding import BindingTerms
from turnkeeper.model.definition import AgentTraits, ModelTraits
from turnkeeper.model.ids import ArtifactId, UserId
from turnkeeper.model.session import SettingsChange
from turnkeeper.ports.channels import Raw
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import StaticIdentities

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

NOT_SENT = {"principal", "trace_id", "trace", "channel", "mode", "before", "signals", "admit"}
"""Who is asking is said by the token, and how it came by the route."""

LESS = {
    "change_session": {"command"},  # what the audit calls it is said by the route
    "create_session": {"is_current"},  # current_session and enter_session do that
    "bases.create": {"base_id"},  # given by packs alone
    "artifacts.keep": {"artifact_id"},  # given by what writes archives alone
    "pointers.delete": {"reason"},  # the route has no place for it
}
"""What is left out of a verb that is there."""

ONLY_REMOTE = {
    "carried": "beside the engine a program keeps `reply.carried` by itself",
    "me": "beside the engine one is who one says",
    "sending": "what a CarriedSession is made of",
}

ONLY_EMBEDDED = {
    "accept": "what faces hand in",
    "archive_sessions": "upkeep of a node",
    "audit_entries": "for an operator at the database; audit.export is for a tenant",
    "check_bound": "the server asks it itself",
    "device": "the memory of the process",
    "directory": "who is who, asked by the server for every request",
    "drain": "of a node",
    "expire_idle_sessions": "upkeep of a node",
    "find_sessions": "sessions tells the total, too",
    "forget_checkpoints": "upkeep of a node",
    "limits": "asked by the server for every request",
    "looking_in": "of a database",
    "metrics": "GET /metrics is for Prometheus",
    "nodes": "for an operator at the database",
    "openings_of": "sessions tells them, too",
    "prune_threads": "upkeep of a node",
    "refused": "what faces tell the audit",
    "retain": "upkeep of a node",
    "settings": "of a node",
    "telemetry": "of a node",
    "unaudited": "of a node",
    "verify_audit": "for an operator at the database; an export is verified anywhere",
    "critic": "is code",
    "approvals.settle_what_is_due": "upkeep of a node",
    "channels.binding": "asked by the server",
    "channels.door": "asked by the server",
    "channels.warn_of_unknown": "of a node",
    "erasure.finish": "upkeep of a node",
    "erasure.retain": "upkeep of a node",
    "keys.admit": "asked by the server",
    "keys.found": "asked by the server",
    "keys.is_live": "asked by the server",
    "keys.parent_of": "asked by the server",
    "answering.answered": "asked by the server",
    "answering.claim": "asked by the server",
    "answering.refused": "asked by the server",
    "keys.log_in": "for browsers",
    "keys.log_out": "for browsers",
    "packs.push_demos": "of a node; demo_packs gives the files to push",
    "scoping.going_on": "a step of create_session",
    "scoping.layout_of": "layout, for who has the session",
    "scoping.pinned_in": "a step of create_session",
    "seals.open": "what is sealed is read by the server alone",
    "seals.seal": "what is sealed is read by the server alone",
    "substrate.collect": "upkeep of a node",
}

UNCALLED = {
    "POST /api/v1/runs/{run_id}/answer": "chat(answers=...) does the same for every way of talking",
    "GET /api/v1/sessions/{session_id}/explanations/{run_id}": "explained(run_id) needs no session",
    "GET /api/v1/schemas": "turnkeeper.schemas has them without a server",
    "GET /api/v1/schemas/{name}": "turnkeeper.schemas has them without a server",
    "HEAD /api/v1/artifacts/{artifact_id}/content": "artifacts.get tells the same",
    "POST /api/v1/login": "for browsers",
    "DELETE /api/v1/login": "for browsers",
    "GET /console/{path}": "for browsers",
    "GET /docs": "for browsers",
    "GET /docs/{file}": "for browsers",
    "GET /healthz": "ping asks readyz, which says more",
    "GET /metrics": "for Prometheus",
    "GET /": "a page for people",
}

RUN = read(
    {
        **dict.fromkeys(("id", "session_id", "agent", "user", "trace_id"), "x"),
        **dict.fromkeys(
            ("started_at", "ended_at", "turn", "finish", "error", "retry_of", "superseded_by", "merged"), None
        ),
        "custody": "engine",
        "status": "running",
        "queue_no": 1,
        "feed_no": 1,
        "accepted_at": NOON.isoformat(),
        "mode": "batch",
    },
    Run,
)
ARTIFACT = Artifact(
    id=ArtifactId("x"), sha256="0", media_type="", name=None, size=1, created_by=UserId("x"), created_at=NOON
)
TICKET = Ticket(run=RUN, created=False, replaced_session_id=None, replaced_reason=None, is_answer=False, feed_no=1)
GIVEN: dict[str, Any] = {
    "run": RUN,
    "ticket": TICKET,
    "artifact": ARTIFACT,
    "session": RUN,  # an id is all that is read of it
    "change": SettingsChange(title="x"),
    "wanted": Wanted(title="x"),
    "raw": Raw(body=b"x"),
    "files": {},
    "pack": {"pack.yaml": ""},
    "approve": True,
    "document": {"mode": "batch"},
}
TERMS = {"bindings.create": BindingTerms(name="x"), "bindings.change": BindingTerms(name="x")}
TRAITS = {"definitions.put_agent": AgentTraits(), "definitions.put_model": ModelTraits(chat_model="x")}
UNIT_CHANGE = {"units.edit": {"claim": "x"}}


def verbs_of(keeper: Any) -> Iterator[tuple[str, Any]]:
    """Every public verb by its name, those of parts as `part.verb`."""
    for name in sorted({*dir(type(keeper)), *vars(keeper)}):
        if name.startswith("_") or name in ("open", "close", "url"):
            continue
        value = getattr(keeper, name)
        if isinstance(value, Part) or type(value).__module__.startswith("turnkeeper.keeping."):
            for verb, _ in inspect.getmembers(type(value), inspect.isfunction):
                if not verb.startswith("_"):
                    yield f"{name}.{verb}", getattr(value, verb)
        else:
            yield name, value


@pytest.fixture
def embedded(tmp_path: Path) -> Turnkeeper:
    return Turnkeeper.open(tmp_path / "nobody-opens-it.db")


def test_every_verb_of_the_client_takes_what_it_takes_beside_the_engine(embedded: Turnkeeper) -> None:
    here, there = dict(verbs_of(embedded)), dict(verbs_of(RemoteTurnkeeper.open("http://nobody")))

    assert there.keys() - here.keys() == ONLY_REMOTE.keys()
    untold = {name for name in here.keys() - there.keys() if not name.startswith("limits.")}
    assert untold - ONLY_EMBEDDED.keys() == set()
    faults = [f"{name}: {fault}" for name in there.keys() & here.keys() for fault in misfits(name, here, there)]
    assert faults == []


def misfits(name: str, here: dict[str, Any], there: dict[str, Any]) -> Iterator[str]:
    """What a call that is good beside the engine, and says what travels, would stumble over."""
    if not callable(there[name]) or name in ("agent", "add_graph", "tool"):
        return  # These say that they are not possible.
    own, theirs = (inspect.signature(each[name]).parameters for each in (there, here))
    takes_more = any(parameter.kind is parameter.VAR_KEYWORD for parameter in theirs.values())
    for parameter in own.values():
        known = theirs.get(parameter.name)
        if known is None and not takes_more:
            yield f"takes {parameter.name!r}, which is not known beside the engine"
        elif known is not None and parameter.kind is not known.kind:
            yield f"{parameter.name!r} is given in another way"
        elif known is not None and (parameter.default is parameter.empty) != (known.default is known.empty):
            yield f"{parameter.name!r} is required on one side only"
    lacks = theirs.keys() - own.keys() - NOT_SENT - LESS.get(name, set())
    yield from (f"lacks {each!r}" for each in sorted(lacks) if theirs[each].kind is not inspect.Parameter.VAR_KEYWORD)


async def test_every_route_is_called_by_some_verb_and_with_a_key_where_it_takes_one(embedded: Turnkeeper) -> None:
    asked: set[tuple[str, str]] = set()
    keyed: set[tuple[str, str]] = set()

    def note(request: httpx2.Request) -> httpx2.Response:
        asked.add((request.method, request.url.path))
        if "idempotency-key" in request.headers:
            keyed.add((request.method, request.url.path))
        return httpx2.Response(418)

    http = httpx2.AsyncClient(base_url="http://nobody", transport=httpx2.MockTransport(note))
    async with RemoteTurnkeeper.open("http://nobody", retries=Retries(tries=1), http=http) as keeper:
        for name, verb in verbs_of(keeper):
            with contextlib.suppress(errors.AnswerUnreadable, errors.NotRemote):
                await called(name, verb)
    await http.aclose()

    paths = create_app(embedded, StaticIdentities([])).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    uncalled = {route for route in routes if not any(fits(route, *each) for each in asked)}
    assert uncalled == UNCALLED.keys()
    taking = {route for route in routes - UNCALLED.keys() if takes_a_key(paths, route)}
    assert {route for route in routes if any(fits(route, *each) for each in keyed)} == taking


def takes_a_key(paths: dict[str, Any], route: str) -> bool:
    method, _, path = route.partition(" ")
    parameters = paths[path][method.lower()].get("parameters", [])
    return "idempotency-key" in {parameter["name"].lower() for parameter in parameters}


def fits(route: str, method: str, path: str) -> bool:
    known, _, template = route.partition(" ")
    # An address without a placeholder is never meant by one with it.
    return known == method and re.fullmatch(re.sub(r"{\w+}", "x", template), path) is not None


async def called(name: str, verb: Any) -> None:
    """Call it once, with what it cannot do without."""
    special = TERMS | TRAITS | UNIT_CHANGE
    needed = [
        special[name]
        if name in special and parameter.name in ("terms", "traits", "change")
        else GIVEN.get(parameter.name, "x")
        for parameter in inspect.signature(verb).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    named = {"approve": True} if name == "approvals.decide" else {}
    if name == "carried":
        needed = ["x", MemoryKeep()]
    if name == "artifacts.keep":
        needed = [b"x"]
    given = verb(*needed, **named)
    if inspect.isawaitable(given):
        await given
    elif hasattr(given, "__anext__"):
        async for _ in given:
            pass
    elif hasattr(given, "reply"):
        await given.reply()


def test_what_is_told_at_a_distance_has_the_names_of_the_model() -> None:
    untold_of_session = {"metadata", "custody", "last_seq", "dialogue", "classification", "expires_by"}
    pairs = [
        (model_session.Session, Session, untold_of_session),
        (model_run.Run, Run, {"tenant", "input", "wait_until", "fence", "retry_safe"}),
        (model_artifact.Artifact, Artifact, {"tenant"}),
    ]

    for theirs, ours, untold in pairs:
        named = {name for name in vars(ours) if not name.startswith("_")}
        assert {each.name for each in fields(theirs)} - named == untold
