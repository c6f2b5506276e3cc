"""An older state is a legal fork, unless a client wants none to be taken."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.backends import contents
from tests.story.custodians import backend_of
from turnkeeper import AgentTurn, Principal, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.errors import CarriedStale, RunEnded
from turnkeeper.model.ids import UserId
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.reply import Reply


def strictly(keeper: Turnkeeper, text: str, carried: Mapping[str, Any] | None = None, **asked: Any) -> Any:
    """An answer that takes no older state."""
    more = {"custody": "client", "session_id": "mine", "freshness": "strict", **asked}
    return keeper.chat(text, carried=carried, **more)


async def test_an_older_state_is_refused_and_says_what_to_send(keeper: Turnkeeper, settings: Settings) -> None:
    first: Reply = await strictly(keeper, "one")
    second: Reply = await strictly(keeper, "two", first.carried)
    before = await contents(backend_of(settings.database))

    with pytest.raises(CarriedStale) as caught:
        await strictly(keeper, "three", first.carried)
    with pytest.raises(CarriedStale):
        await strictly(keeper, "from the beginning")

    after = await contents(backend_of(settings.database))
    assert (caught.value.http_status, caught.value.facts["revision"]) == (409, 2)
    assert all(way in caught.value.detail for way in ("newest state", "freshness 'any'", "request_id"))
    assert {table for table in after if after[table] != before[table]} <= {"audit", "nodes"}
    assert (await strictly(keeper, "three", second.carried)).turn == 3


async def test_an_older_state_is_a_fork_where_any_will_do_and_reads_nothing(keeper: Turnkeeper) -> None:
    first: Reply = await strictly(keeper, "one")
    second: Reply = await strictly(keeper, "two", first.carried)

    forked = await strictly(keeper, "another two", first.carried, freshness="any")
    newer = await strictly(keeper, "three", second.carried, freshness="any")

    assert (forked.turn, newer.turn) == (2, 3)
    assert (await strictly(keeper, "four", newer.carried)).turn == 4


async def test_of_two_runs_on_the_same_revision_at_once_exactly_one_wins(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    begun = asyncio.Barrier(2)

    async def together(turn: AgentTurn) -> str:
        await begun.wait()
        return "done"

    for each in (keeper, other_keeper):
        each.agent("together")(together)
    first: Reply = await strictly(keeper, "one")

    ended = await asyncio.gather(
        strictly(keeper, "two", first.carried, agent="together"),
        strictly(other_keeper, "another two", first.carried, agent="together"),
        return_exceptions=True,
    )

    [lost] = [each for each in ended if isinstance(each, RunEnded)]
    [won] = [each for each in ended if isinstance(each, Reply)]
    assert (lost.code, lost.http_status, lost.facts.get("carried")) == ("carried_stale", 409, None)
    assert (await strictly(keeper, "three", won.carried)).turn == 3


async def test_the_same_request_is_answered_again_although_the_session_has_gone_on(keeper: Turnkeeper) -> None:
    first: Reply = await strictly(keeper, "one")
    second: Reply = await strictly(keeper, "two", first.carried, request_id="req-2")

    again: Reply = await strictly(keeper, "two", first.carried, request_id="req-2")

    assert (again.run_id, again.carried) == (second.run_id, second.carried)


async def test_a_reset_counts_and_a_turn_that_failed_does_not(keeper: Turnkeeper) -> None:
    @keeper.agent("failing")
    async def failing(turn: AgentTurn) -> str:
        raise RuntimeError

    first: Reply = await strictly(keeper, "one")
    with pytest.raises(RunEnded):
        await strictly(keeper, "two", first.carried, agent="failing")
    with pytest.raises(RunEnded) as anew:
        await strictly(keeper, "two", first.carried, agent="failing", reset=True)

    with pytest.raises(CarriedStale):
        await strictly(keeper, "two", first.carried)
    bare = await strictly(keeper, "/reset", anew.value.facts["carried"])
    assert (await strictly(keeper, "two", bare.carried)).turn == 2


async def test_revisions_are_those_of_one_user_and_for_the_custody_of_clients_alone(keeper: Turnkeeper) -> None:
    ben = Principal(tenant=LOCAL.tenant, user=UserId("ben"))
    await strictly(keeper, "one")

    assert (await strictly(keeper, "one", principal=ben)).turn == 1
    for custody in ("engine", "device"):
        with pytest.raises(TurnkeeperError) as caught:
            await strictly(keeper, "one", custody=custody, session_id=None)
        assert [fault["pointer"] for fault in caught.value.details] == ["/freshness"]
