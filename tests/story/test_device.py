"""The session of a device, which lives in the memory of the process that owns it."""

import asyncio
import logging
from dataclasses import replace

import pytest

from turnkeeper import AgentTurn, Principal, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.errors import RunEnded, SessionMoved
from turnkeeper.model.ids import TenantId, UserId
from turnkeeper.model.principal import LOCAL

BEN = Principal(tenant=LOCAL.tenant, user=UserId("ben"))
EVE = Principal(tenant=TenantId("globex"), user=UserId("eve"))


async def counter(turn: AgentTurn) -> str:
    turn.state["count"] = turn.state.get("count", 0) + 1
    return str(turn.state["count"])


def counting(keeper: Turnkeeper) -> Turnkeeper:
    keeper.agent("counter")(counter)
    return keeper


async def count(keeper: Turnkeeper, principal: Principal | None = None) -> str:
    who = {} if principal is None else {"principal": principal}
    return (await keeper.chat("and on", agent="counter", custody="device", **who)).text


async def test_the_fields_of_the_bus_stay_beside_the_conversation(keeper: Turnkeeper) -> None:
    counting(keeper).device.write({"lang": "en-us", "of_somebody": {"deep": [1]}})

    await count(keeper)

    fields = keeper.device.read()
    fields["of_somebody"]["deep"].append(2)
    assert keeper.device.read() == {"lang": "en-us", "of_somebody": {"deep": [1]}, "turnkeeper": fields["turnkeeper"]}
    assert fields["turnkeeper"]["state"] == {"count": 1}


async def test_a_restart_forgets_what_is_not_kept_and_another_node_takes_over_what_is(settings: Settings) -> None:
    said = {}
    for memory in ("process", "kept"):
        for restarted in range(2):
            async with Turnkeeper.open(settings=replace(settings, device_memory=memory)) as keeper:
                said[memory, restarted] = [await count(counting(keeper)), await count(keeper)]

    assert said == {
        ("process", 0): ["1", "2"],
        ("process", 1): ["1", "2"],
        ("kept", 0): ["1", "2"],
        ("kept", 1): ["3", "4"],
    }


async def test_who_loads_it_owns_what_another_node_has_kept_since(settings: Settings) -> None:
    kept = replace(settings, device_memory="kept")
    async with Turnkeeper.open(settings=kept) as keeper, Turnkeeper.open(settings=kept) as other:
        await count(counting(keeper))
        await count(counting(other))
        await count(other)

        await keeper.device.load()

        assert await count(keeper) == "4"


async def test_who_lags_behind_writes_over_nothing_that_another_process_has_kept(settings: Settings) -> None:
    kept, go, begun = replace(settings, device_memory="kept"), asyncio.Event(), asyncio.Event()

    async def slow(turn: AgentTurn) -> str:
        begun.set()
        await go.wait()
        return await counter(turn)

    async with Turnkeeper.open(settings=kept) as keeper, Turnkeeper.open(settings=kept) as other:
        await count(counting(keeper))
        keeper.agent("slow")(slow)
        late = asyncio.create_task(keeper.chat("slowly", agent="slow", custody="device"))
        await begun.wait()
        await counting(other).device.load()
        taken_over = [await count(other), await count(other)]
        go.set()
        with pytest.raises(RunEnded) as caught:
            await late
        again = await keeper.chat("slowly", agent="slow", custody="device")
        with pytest.raises(SessionMoved):
            await other.device.keep()
        here = [each.device.read() for each in (keeper, other)]

    assert (caught.value.code, caught.value.retryable) == ("session_moved", True)
    assert (taken_over, again.text) == (["2", "3"], "4")
    assert here[0] == here[1]


async def test_of_two_turns_at_once_one_is_kept_and_the_other_one_may_be_sent_again(keeper: Turnkeeper) -> None:
    begun, go = asyncio.Barrier(3), asyncio.Event()

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> str:
        await begun.wait()
        await go.wait()
        return await counter(turn)

    both = [asyncio.create_task(keeper.chat("at once", agent="slow", custody="device")) for _ in range(2)]
    await begun.wait()
    go.set()
    ended = await asyncio.gather(*both, return_exceptions=True)

    [refused] = [each for each in ended if isinstance(each, RunEnded)]
    assert (refused.code, refused.http_status, refused.retryable) == ("session_moved", 409, True)
    assert await count(counting(keeper)) == "2"


async def test_a_conversation_that_is_malformed_is_none_and_the_device_goes_on(
    keeper: Turnkeeper, caplog: pytest.LogCaptureFixture
) -> None:
    await count(counting(keeper))
    keeper.device.write(keeper.device.read() | {"turnkeeper": {"version": "odd"}})

    with caplog.at_level(logging.WARNING, logger="turnkeeper.custody.device"):
        said = await count(keeper)

    assert said == "1"
    assert "conversation of the device left out" in caplog.text
    assert await count(keeper) == "2"


async def test_a_reset_stands_when_the_rest_of_its_turn_fails(keeper: Turnkeeper) -> None:
    await count(counting(keeper))

    @keeper.agent("failing")
    async def failing(turn: AgentTurn) -> str:
        raise RuntimeError

    with pytest.raises(RunEnded):
        await keeper.chat("anew", agent="failing", reset=True, custody="device")

    assert await count(keeper) == "1"
    assert keeper.device.read()["turnkeeper"]["epoch"]["number"] == 2


async def test_every_user_has_a_device_of_their_own(keeper: Turnkeeper) -> None:
    await count(counting(keeper))

    assert [await count(keeper, who) for who in (EVE, BEN)] == ["1", "1"]
    assert await count(keeper) == "2"


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        ({"session_id": "kitchen"}, "/session_id"),
        ({"carried": {}}, "/carried"),
        ({"double_text": "enqueue"}, "/double_text"),
        ({"mode": "long_running"}, "/mode"),
        ({"answers": "run_1", "session_id": "default"}, "/answers"),
    ],
)
async def test_what_a_device_does_not_have_is_refused(keeper: Turnkeeper, asked: dict[str, object], at: str) -> None:
    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("hello", custody="device", **asked)

    assert caught.value.code == "envelope_invalid"
    assert [fault["pointer"] for fault in caught.value.details] == [at]
