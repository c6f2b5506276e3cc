"""The whole API, asked by a program that knows nothing of it but its OpenAPI document."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.scale import SOAKING, rounds
from tests.server.agents import asking, set_up
from tests.server.world import MARKER, everything_of
from turnkeeper import Principal, Role, Settings, TenantId, Turnkeeper, UserId
from turnkeeper.server.app import create_app
from turnkeeper.server.identities import Identity, StaticIdentities, hash_of
from turnkeeper.server.listen import ProblemProtocol, bind, url_of

ROOT = Path(__file__).parents[2]
ACME = TenantId("acme")
ADA = Principal(tenant=ACME, user=UserId("ada"), role=Role.OWNER, is_operator=True)
OTHERS = [
    Principal(tenant=ACME, user=UserId("ben"), role=Role.MEMBER),
    Principal(tenant=ACME, user=UserId("vera"), role=Role.VIEWER),
]
IN_BODIES = ("session_id", "project_id", "manifest")
EXAMPLES = rounds(2, 100)
WHOLE = "examples,coverage,fuzzing,stateful"
UNSEEN = {
    "POST /api/v1/channels/{channel}/{binding}",  # Says who sends it, which the binding must know.
    "POST /api/v1/deliveries/{delivery_id}/retry",  # Nothing goes out here that could have failed.
    "POST /api/v1/sessions/adopt",  # Takes what a client carries, which is sealed.
}
"""What it cannot make up so well that it is done; each has tests of its own."""
PATIENCE = 0.02
"""How long a feed is read: what there was is told by then, and what is still to come nobody waits for."""


@dataclass
class Counter:
    """Counts what an app answers, by method and address, and hangs up on what has no end."""

    app: ASGIApp
    answered: set[tuple[str, str]] = field(default_factory=set)
    """Those that were answered as asked."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, is_over = asyncio.Event(), False

        async def seen(message: Message) -> None:
            nonlocal is_over
            if message["type"] == "http.response.start":
                begun.set()
                if 200 <= message["status"] < 300:
                    self.answered.add((scope["method"], scope["path"]))
            else:
                is_over = not message.get("more_body", False)
            await send(message)

        async def left() -> Message:
            await begun.wait()
            await asyncio.sleep(PATIENCE)
            return {"type": "http.disconnect"}

        await self.app(scope, left if scope["path"].endswith("/feed") else receive, seen)
        if not is_over:
            await send({"type": "http.response.body", "body": b""})

    def has_answered(self, method: str, template: str) -> bool:
        fitting = re.compile(re.sub(r"{\w+}", "[^/]+", template))
        return any(method == asked and fitting.fullmatch(path) for asked, path in self.answered)


@dataclass(frozen=True)
class House:
    url: str
    document: dict[str, Any]
    ids: dict[str, str]
    """One thing of each kind that is there, by the name under which routes ask for it."""
    spare: dict[str, str]
    """Another one of those that do not outlive what is asked of them."""
    objective: str
    counter: Counter


@asynccontextmanager
async def a_house(folder: Path) -> AsyncIterator[House]:
    """A server in this loop, with something of every kind in it."""
    everyone = [Identity(token_hash=hash_of(f"token-of-{who.user}"), principal=who) for who in (ADA, *OTHERS)]
    settings = Settings(
        default_agent="echo", rate_per_second=1e6, rate_burst=10**6, run_seconds=5.0, failed_tokens=10**6
    )
    async with Turnkeeper.open(folder / "conversations.db", settings=settings) as keeper:
        set_up(keeper)
        keeper.agent("concierge")(asking)  # Of whom the examples of the document speak.
        app = create_app(keeper, StaticIdentities(everyone))
        counter = Counter(app)
        server = uvicorn.Server(
            uvicorn.Config(counter, http=ProblemProtocol, ws="none", lifespan="off", log_config=None, access_log=False)
        )
        bound = bind("127.0.0.1", 0)
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        async with httpx2.AsyncClient(base_url=url_of(bound), headers=authorized(ADA)) as ada:
            ids = await everything_of(ada)
            objective = (await ada.get("/api/v1/objectives")).json()["items"][0]["id"]
            house = House(url_of(bound), app.openapi(), ids, await another_of(ada, ids), objective, counter)
        try:
            yield house
        finally:
            app.state.closing.begin()
            server.should_exit = True
            await serving


async def another_of(ada: httpx2.AsyncClient, ids: dict[str, str]) -> dict[str, str]:
    """A second one of each kind that can be ended, removed or erased, so that the first one stays to be asked for."""

    async def made(method: str, path: str, body: Any = None) -> Any:
        answer = await ada.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json() if answer.content else None

    said = await made("POST", "/chat", {"message": "My port is 81", "agent": "symbolic"})
    session = said["session_id"]
    await made("PUT", f"/sessions/{session}/layout", {"layout": {}})
    await made("PUT", f"/sessions/{session}/mounts/{ids['base_id']}")
    source = await made("POST", f"/kbs/{ids['base_id']}/sources", {"name": "b.txt", "content": "The shop is open.\n"})
    asked = await made("POST", "/chat", {"message": "Write", "agent": "clerk"})
    approval = (await made("GET", f"/approvals?session_id={asked['session_id']}"))["items"][0]["id"]
    await made("PUT", "/agents/spare-agent", {"capabilities": []})
    await made("PUT", "/models/spare-model", {"chat_model": "small"})
    await made("POST", "/users", {"id": "emil", "name": "Emil"})
    return {
        "session_id": session,
        "run_id": asked["run_id"],
        "unit_id": (await made("GET", f"/sessions/{session}/units"))["items"][0]["id"],
        "source_id": source["id"],
        "approval_id": approval,
        "pointer_id": (await made("POST", "/pointers", {"name": "spare", "manifest": ids["manifest"]}))["id"],
        "binding_id": (await made("POST", "/bindings", {"name": "spare", "channel": "webhook"}))["id"],
        "agent_id": "spare-agent",
        "model_id": "spare-model",
        "user_id": "emil",
        "doomed": (await made("POST", "/sessions"))["id"],
        "released": (await made("POST", "/sessions"))["id"],
        "edited": (await made("POST", "/chat", {"message": "My port is 81", "agent": "symbolic"}))["session_id"],
        "paused": (await made("POST", f"/sessions/{(await made('POST', '/sessions'))['id']}/pause"))["id"],
        "waiting": (await made("POST", "/chat", {"message": "A table", "agent": "concierge"}))["run_id"],
    }


def authorized(who: Principal) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{who.user}"}


async def schemathesis(house: House, folder: Path, who: Principal, *more: str) -> tuple[int, str]:
    """The exit code of `st run` against this house, and what it says."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(ROOT / "tests/server/schemathesis.toml")),
        *("run", f"{house.url}/openapi.json", "--header", f"Authorization:{authorized(who)['Authorization']}"),
        *("--max-examples", str(EXAMPLES), "--seed", "1", "--no-color", *more),
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.server.claims",
            "TURNKEEPER_KNOWN": known(house),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


def known(house: House) -> str:
    """Let it ask for what is there, too, and not only for what it makes up; the later ones win."""
    return json.dumps(
        {
            "ends": "^DELETE .*/(sessions|users)/{[a-z_]+}$|/(close|release)$",
            "kept": [*house.ids.values(), *house.spare.values(), ADA.user],
            "spare": {"session_id": house.spare["doomed"], "user_id": house.spare["user_id"]},
            "paths": {
                "": house.ids,
                "^DELETE|/(cancel|retire|decide|revoke)$|^PATCH .*/users/": house.spare,
                "^DELETE .*/sessions/{session_id}$|/close$": {"session_id": house.spare["doomed"]},
                "^DELETE .*/contacts$": {"binding_id": house.ids["binding_id"]},
                "^PATCH .*/units/": {"session_id": house.spare["edited"]},
                "/release$": {"session_id": house.spare["released"]},
                "/resume$": {"session_id": house.spare["paused"]},
                "/answer$": {"run_id": house.spare["waiting"]},
                "/schemas/": {"name": "envelope"},
                "/objectives/": {"layer_id": house.objective},
                "/tenants/": {"layer_id": ACME},
            },
            "queries": {"address": MARKER, "against": house.ids["manifest"]},
            "bodies": {
                **{name: house.ids[name] for name in IN_BODIES},
                "sha256": house.ids["artifact_id"],
                "token": "token-of-ada",
                "agent": "echo",
                "user": "dora",
                "tenant_id": ACME,
                "context_pack_refs": ["helpdesk@1.4.0"],
                "pack": "helpdesk",
                "objective_id": house.objective,
                "model_profile": "private-model",
            },
        }
    )


@pytest.mark.parametrize(
    ("who", "phases"),
    [(ADA, WHOLE), *((other, WHOLE if SOAKING else "examples") for other in OTHERS)],
    ids=lambda each: str(each.role) if isinstance(each, Principal) else "",
)
async def test_the_api_does_what_its_document_says_and_nothing_else(
    tmp_path: Path, who: Principal, phases: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_house(tmp_path) as house:
        code, said = await schemathesis(house, tmp_path, who, "--phases", phases)

        assert code == 0, said
        unseen = {
            f"{method.upper()} {path}"
            for path, operations in house.document["paths"].items()
            for method in operations
            if not house.counter.has_answered(method.upper(), path)
        }
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
    # Two workers ask for the same things: now and then one takes away what the other is about to ask for.
    assert who is not ADA or len(unseen - UNSEEN) <= 5, unseen
