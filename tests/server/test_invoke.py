"""Full envelopes over a socket: how each mode answers, what is refused, and what becomes of junk."""

import asyncio
import json
import random
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.scale import rounds
from tests.server.process import Api, ServerProcess, a_server
from tests.story.envelopes import HELPDESK, PHOTO, TRACE, an_envelope
from turnkeeper import Turnkeeper
from turnkeeper.ledger.audit import Verdict
from turnkeeper.schemas import NAMES, schema

IDENTITIES = [
    {"token": "token-of-ada", "tenant": "acme", "user": "ada", "role": "owner"},
    {"token": "token-of-gus", "tenant": "globex", "user": "gus", "role": "owner"},
]
POLICY = "[tenants.globex.rate]\nper_second = 0.001\nburst = 40\n"


@dataclass(frozen=True)
class Desk:
    server: ServerProcess
    database: Path

    def api(self, token: str | None) -> Api:
        return self.server.api(token)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    identities, policy = folder / "identities.json", folder / "policy.toml"
    identities.write_text(json.dumps(IDENTITIES))
    identities.chmod(0o600)
    policy.write_text(POLICY)
    environment = {"TURNKEEPER_POLICY": str(policy), "TURNKEEPER_RATE_PER_SECOND": "100000"}
    environment |= {"TURNKEEPER_RATE_BURST": "1000000"}
    database = folder / "conversations.db"
    with a_server(database, "--identities", str(identities), **environment) as server:
        ada = server.api("token-of-ada")
        assert ada.post("/packs", {"files": HELPDESK}).status_code == 201
        yield Desk(server, database)
        assert server.stop() == 0, server.complained
        assert "Traceback" not in server.complained, server.complained


@pytest.fixture
def ada(desk: Desk) -> Api:
    return desk.api("token-of-ada")


def streamed(api: Api, document: dict[str, Any]) -> list[Any]:
    with api.streaming("POST", "/invoke", json=document) as events:
        return [event.data for event in events]


def envelope(**changes: Any) -> dict[str, Any]:
    return an_envelope(**{"tenant_id": "acme", "agent__agent_id": "echo", **changes})


def test_a_batch_is_answered_as_one_object(ada: Api) -> None:
    sent = envelope()

    reply = ada.post("/invoke", sent)

    told = reply.json()
    assert reply.status_code == 200
    assert (told["status"], told["turn"], told["trace_id"], told["mode"]) == ("completed", 1, TRACE, "batch")
    assert (reply.headers["x-trace-id"], reply.headers["x-request-id"]) == (TRACE, sent["request_id"])


def test_behaviour_34_a_stream_has_rising_numbers_and_one_end(ada: Api) -> None:
    frames = streamed(ada, envelope(mode="stream"))

    numbers = [frame["seq"] for frame in frames]
    ends = [frame["type"] for frame in frames if frame["type"] == "run.completed"]
    assert numbers == sorted(set(numbers))
    assert (frames[0]["type"], ends) == ("run.accepted", ["run.completed"])
    assert {frame["trace_id"] for frame in frames} == {TRACE}
    for frame in frames:
        jsonschema_rs.validate(schema("frame"), frame)


def test_behaviour_38_40_a_batch_leaves_no_checkpoint(ada: Api) -> None:
    reply = ada.post("/invoke", envelope()).json()

    assert ada.get(f"/runs/{reply['run_id']}/checkpoints").json()["items"] == []


def test_a_long_run_is_taken_in_and_found_again(ada: Api) -> None:
    reply = ada.post("/invoke", envelope(mode="long_running"))

    handle = reply.json()
    frames = ada.feed(f"/runs/{handle['run_id']}/feed")
    assert reply.status_code == 202
    assert reply.headers["location"] == handle["run"] == f"/api/v1/runs/{handle['run_id']}"
    assert frames[-1].type == "run.completed"
    assert ada.get(f"/runs/{handle['run_id']}").json()["status"] == "completed"


def test_every_fault_is_told_at_once_each_at_its_place(ada: Api) -> None:
    broken = envelope(mode="async", trace=..., context_pack_refs=["helpdesk"], attachments=[{**PHOTO, "sha256": 4}])

    problem = ada.post("/invoke", broken).json()

    assert (problem["status"], problem["code"], problem["stage"]) == (400, "missing_required_field", "receive")
    assert {each["pointer"] for each in problem["details"]} == {
        "/mode",
        "/trace",
        "/context_pack_refs/0",
        "/attachments/0/sha256",
    }
    jsonschema_rs.validate(schema("error"), problem)


def test_a_stranger_is_refused_before_an_envelope_is_read(desk: Desk) -> None:
    problem = desk.api(None).post("/invoke", {"anything": 1}).json()

    assert (problem["status"], problem["code"]) == (401, "unauthenticated")


def test_an_envelope_that_is_too_large_has_a_name_of_its_own(ada: Api) -> None:
    problem = ada.post("/invoke", envelope(input__message="x" * 1_100_000)).json()

    assert (problem["status"], problem["code"], problem["stage"]) == (413, "envelope_too_large", "receive")


def test_behaviour_45_junk_uses_up_what_a_tenant_may_send_and_only_that_tenant(desk: Desk, ada: Api) -> None:
    gus = desk.api("token-of-gus")

    codes = [gus.post("/invoke", {"junk": number}).json()["code"] for number in range(45)]
    limited = gus.post("/invoke", {"junk": "more"})

    assert codes == ["missing_required_field"] * 40 + ["rate_limited"] * 5
    assert (limited.status_code, limited.json()["retryable"]) == (429, True)
    assert int(limited.headers["retry-after"]) > 0
    assert ada.post("/invoke", envelope()).status_code == 200


def test_the_schemas_are_served(ada: Api) -> None:
    assert ada.get("/schemas").json() == {"items": list(NAMES)}
    served = {name: ada.get(f"/schemas/{name}").json() for name in NAMES}
    assert served == {name: schema(name) for name in NAMES}
    assert ada.get("/schemas/nothing").status_code == 404


def test_random_envelopes_are_answered_or_refused_by_name_and_each_is_audited(ada: Api, desk: Desk) -> None:
    count, dice = rounds(300, 10_000), random.Random(5)
    before = asyncio.run(audited(desk))

    for number in range(count):
        body = scrambled(envelope(request_id=f"fuzz_{number}"), dice)
        reply = ada.client.post("/api/v1/invoke", content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code < 500, (body[:400], reply.text)
        if reply.status_code >= 400:
            jsonschema_rs.validate(schema("error"), reply.json())

    after = asyncio.run(audited(desk))
    assert after.entries - before.entries == count
    assert after.faults == ()


async def audited(desk: Desk) -> Verdict:
    async with Turnkeeper.open(desk.database).looking_in() as keeper:
        return await keeper.verify_audit("acme")


def scrambled(document: dict[str, Any], dice: random.Random) -> bytes:
    """The envelope with up to three things wrong with it, or bytes that are no JSON at all."""
    if dice.random() < 0.05:
        return bytes(dice.randrange(256) for _ in range(dice.randrange(60)))
    for _ in range(dice.randrange(4)):
        place: Any = document
        while isinstance(place, dict | list) and place:
            key: Any = dice.choice(list(place)) if isinstance(place, dict) else dice.randrange(len(place))
            if not isinstance(place[key], dict | list) or dice.random() < 0.4:
                break
            place = place[key]
        if not place:
            continue
        match dice.randrange(4):
            case 0:
                place.pop(key)
            case 1:
                place[key] = dice.choice(
                    [None, "", 0, -1, 1.5, True, [], {}, "\x00", "\ud800", "ü" * 40, 2**60, ["x"], {"a": {}}]
                )
            case 2 if isinstance(place, dict):
                place["".join(dice.choices(string.printable, k=5))] = dice.choice([1, "x", {}])
            case _:
                place[key] = "".join(dice.choices(string.printable, k=dice.randrange(200)))
    return json.dumps(document).encode()
