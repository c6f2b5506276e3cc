"""A seal opens for whom it was made, and for nobody and nothing else."""

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scale import rounds
from turnkeeper.custody.packing import VERSION, carried_of, upgraded
from turnkeeper.custody.sealing import Bearer, Sealing
from turnkeeper.errors import CarriedInvalid, EnvelopeInvalid
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.ids import SessionId, TenantId, UserId
from turnkeeper.model.seal import SealKey
from turnkeeper.testing.clock import SteppedClock

ADA = Bearer(tenant=TenantId("acme"), user=UserId("ada"), session_id=SessionId("mine"))
STATE = {"version": 2, "state": {"note": "4711"}, "history": ["Grüezi"]}
FIRST = json.loads((Path(__file__).parent / "data" / "carried_v1.json").read_text(encoding="utf-8"))


class KeyRing:
    """Keys without a database."""

    def __init__(self) -> None:
        self.kept: list[SealKey] = []

    async def keys(self, tenant: TenantId) -> Sequence[SealKey]:
        return [key for key in self.kept if key.tenant == tenant]

    async def make_first(self, key: SealKey) -> None:
        self.kept.append(key)

    async def add(self, key: SealKey, audit: AuditFacts) -> None:
        self.kept.append(key)

    async def retire(self, tenant: TenantId, id: str, audit: AuditFacts, *, at: datetime) -> None:
        self.kept = [replace(key, key=None, retired_at=at) if key.id == id else key for key in self.kept]


def sealing(most_bytes: int = 10_000) -> Sealing:
    return Sealing(KeyRing(), SteppedClock(), most_bytes)


async def refusal(seals: Sealing, text: str, bearer: Bearer = ADA) -> str:
    try:
        await seals.open(text, bearer)
    except CarriedInvalid as error:
        return str(error.facts["reason"])
    return "opened"


async def test_what_was_sealed_is_opened_and_shows_nothing_of_what_is_in_it() -> None:
    seals = sealing()

    text = await seals.seal(STATE, ADA)

    assert await seals.open(text, ADA) == STATE
    assert b"4711" not in base64.urlsafe_b64decode(text + "===")
    assert text != await seals.seal(STATE, ADA)


@pytest.mark.parametrize(
    "other",
    [
        replace(ADA, tenant=TenantId("globex")),
        replace(ADA, user=UserId("eve")),
        replace(ADA, session_id=SessionId("another")),
        replace(ADA, user=UserId("ada,mine"), session_id=SessionId("")),
    ],
)
async def test_a_state_that_was_given_to_one_is_of_no_use_to_another(other: Bearer) -> None:
    seals = sealing()
    text = await seals.seal(STATE, ADA)
    await seals.seal(STATE, other)

    assert await refusal(seals, text, other) in ("not_yours", "unknown_key")


async def test_every_fault_has_a_name_of_its_own() -> None:
    seals, elsewhere = sealing(), sealing()
    text = await seals.seal(STATE, ADA)
    elsewhere.clock.new_id("seal")
    foreign = await elsewhere.seal(STATE, ADA)

    told = {
        "nothing": await refusal(seals, ""),
        "no text of ours": await refusal(seals, "§§§"),
        "half a surrogate pair": await refusal(seals, "\ud800"),
        "one letter short": await refusal(seals, text[:-1]),
        "the head alone": await refusal(seals, text[:20]),
        "of another house": await refusal(seals, foreign),
        "too long": await refusal(seals, "A" * (seals.longest + 1)),
        "as plain as it was": await refusal(seals, json.dumps(STATE)),
    }

    assert told == {
        "nothing": "no_seal",
        "no text of ours": "no_seal",
        "half a surrogate pair": "no_seal",
        "one letter short": told["one letter short"],
        "the head alone": "no_seal",
        "of another house": "unknown_key",
        "too long": "too_large",
        "as plain as it was": "no_seal",
    }
    assert told["one letter short"] in ("not_yours", "no_seal")


async def test_a_new_key_seals_and_the_old_ones_open_until_they_are_retired() -> None:
    seals = sealing()
    assert isinstance(seals.store, KeyRing)
    before = await seals.seal(STATE, ADA)
    seals.store.kept.append(seals.new_key(ADA.tenant))
    seals.forget(ADA.tenant)

    after = await seals.seal(STATE, ADA)
    opened = [await refusal(seals, before), await refusal(seals, after)]
    first, second = seals.store.kept
    await seals.store.retire(ADA.tenant, first.id, None, at=seals.clock.now())  # type: ignore[arg-type]
    seals.forget(ADA.tenant)

    assert opened == ["opened", "opened"]
    assert [await refusal(seals, before), await refusal(seals, after)] == ["retired_key", "opened"]
    assert (first.id.encode() in _bytes(before), second.id.encode() in _bytes(after)) == (True, True)


async def test_a_key_that_another_node_retired_opens_nothing_here_after_a_few_seconds() -> None:
    seals = sealing()
    assert isinstance(seals.store, KeyRing)
    assert isinstance(seals.clock, SteppedClock)
    text = await seals.seal(STATE, ADA)
    await seals.store.retire(ADA.tenant, seals.store.kept[0].id, None, at=seals.clock.now())  # type: ignore[arg-type]

    seals.clock.step(11)

    assert await refusal(seals, text) == "retired_key"


async def test_nothing_is_sealed_with_a_key_that_another_node_retired_just_now() -> None:
    here = sealing()
    there = Sealing(here.store, here.clock, here.most_bytes)
    assert isinstance(here.store, KeyRing)
    await here.seal(STATE, ADA)
    await here.store.retire(ADA.tenant, here.store.kept[0].id, None, at=here.clock.now())  # type: ignore[arg-type]

    text = await here.seal(STATE, ADA)

    assert await refusal(there, text) == "opened"


def test_the_largest_state_fits_when_it_is_sealed() -> None:
    seals = sealing(5_000)
    state = {"a": "x" * (5_000 - len('{"a":""}'))}

    text = asyncio.run(seals.seal(state, ADA))

    assert len(text) <= seals.longest
    assert asyncio.run(seals.open(text, ADA)) == state


@settings(max_examples=rounds(50, 2_000), deadline=None)
@given(data=st.data())
def test_no_text_opens_but_the_one_that_was_given_out(data: st.DataObject) -> None:
    seals = sealing()
    text = asyncio.run(seals.seal(STATE, ADA))
    whole = bytearray(_bytes(text))
    forged = data.draw(
        st.one_of(
            st.text(max_size=400),
            st.binary(max_size=400).map(_text),
            st.builds(lambda at, bits: _flipped(whole, at, bits), st.integers(0, len(whole) - 1), st.integers(1, 255)),
            st.integers(0, len(whole) - 1).map(lambda end: _text(bytes(whole[:end]))),
            st.binary(min_size=1, max_size=20).map(lambda more: _text(bytes(whole) + more)),
        )
    )

    assert asyncio.run(refusal(seals, forged)) in ("no_seal", "unknown_key", "not_yours")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(whole: bytes) -> str:
    return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


def _flipped(whole: bytearray, at: int, bits: int) -> str:
    return _text(bytes(each ^ bits if place == at else each for place, each in enumerate(whole)))


# --- states of older releases


def test_a_state_of_the_first_version_is_brought_up_to_date() -> None:
    carried = carried_of(FIRST)

    assert FIRST["version"] == 1
    assert (carried.version, carried.revision, len(carried.units)) == (VERSION, 2, 3)
    assert upgraded(FIRST) == FIRST | {"version": VERSION}


def test_what_the_first_version_did_not_say_yet_is_nothing() -> None:
    early = {
        name: each
        for name, each in FIRST.items()
        if name not in ("units", "preferences", "packs", "dialogue", "agent_head")
    }

    carried = carried_of(early)

    assert (carried.units, carried.packs, carried.dialogue, carried.agent_head) == ((), (), {}, None)


@pytest.mark.parametrize("version", [0, 3, -1, True, "1", None, [1], 1.0])
def test_a_version_that_nobody_knows_is_refused(version: Any) -> None:
    with pytest.raises(EnvelopeInvalid):
        carried_of(FIRST | {"version": version})


@pytest.mark.parametrize("value", [None, [], "text", 7, {}])
def test_what_is_no_state_is_refused(value: Any) -> None:
    with pytest.raises(EnvelopeInvalid):
        carried_of(value)
