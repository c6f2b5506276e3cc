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
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.scale import rounds
from tests.server.agents import set_up
from tests.server.world import everything_of
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
EXAMPLES = rounds(2, 100)
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
        app = create_app(keeper, StaticIdentities(everyone))
        counter = Counter(app)
        server = uvicorn.Server(
            uvicorn.Config(counter, http=ProblemProtocol, ws="none", lifespan="off", log_config=None, access_log=False)
        )
        bound = bind("127.0.0.1", 0)
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        async with httpx2.AsyncClient(base_url=url_of(bound), headers=authorized(ADA)) as ada:
            ids = await everything_of(ada)
        try:
            yield House(url_of(bound), app.openapi(), ids, counter)
        finally:
            app.state.closing.begin()
            server.should_exit = True
            await serving


def authorized(who: Principal) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{who.user}"}


async def schemathesis(house: House, folder: Path, who: Principal, *more: str) -> tuple[int, str]:
    """The exit code of `st run` against this house, and what it says."""
    config = folder / "schemathesis.toml"
    config.write_text((ROOT / "tests/server/schemathesis.toml").read_text(encoding="utf-8") + known(house.ids))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *("run", f"{house.url}/openapi.json", "--header", f"Authorization:{authorized(who)['Authorization']}"),
        *("--max-examples", str(EXAMPLES), "--seed", "1", "--no-color", *more),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.server.claims"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


def known(ids: dict[str, str]) -> str:
    """Let it ask for what is there, too, and not only for what it makes up."""
    lists = "".join(f"[dictionaries.{name}]\nvalues = [{json.dumps(id)}]\n" for name, id in ids.items())
    uses = "".join(f'"{name}" = {{ dictionary = "{name}", probability = 0.7 }}\n' for name in ids)
    return f"\n{lists}\n[parameters]\n{uses}"


async def test_the_api_does_what_its_document_says_and_nothing_else(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        code, said = await schemathesis(house, tmp_path, ADA)

        assert code == 0, said
        never = [
            f"{method.upper()} {path}"
            for path, operations in house.document["paths"].items()
            for method in operations
            if not house.counter.has_answered(method.upper(), path)
        ]
    # What it makes up is refused by some: they are asked for what is there in test_two_identities.
    assert len(never) < 40, never
