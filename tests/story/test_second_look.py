"""What is easily got wrong beside a turn: leftovers of agents, foreign session ids, nodes that die young."""

import threading

import pytest

from turnkeeper import AgentTurn, Principal, Settings, TenantId, Turnkeeper, TurnkeeperError, UserId

ADA, BEN = (Principal(tenant=TenantId("acme"), user=UserId(name)) for name in ("ada", "ben"))


async def test_what_an_agent_still_holds_of_its_state_changes_no_later_turn(keeper: Turnkeeper) -> None:
    held: list[list[str]] = []

    @keeper.agent("leaky")
    async def leaky(turn: AgentTurn) -> str:
        notes = turn.state.setdefault("notes", [])
        held.append(notes)
        return ",".join(notes)

    first = await keeper.chat("hello", agent="leaky")
    held[0].append("too late")

    second = await keeper.chat("again", session_id=first.session_id)

    assert second.text == ""


async def test_a_node_is_known_before_it_takes_its_first_message(keeper: Turnkeeper) -> None:
    seen: list[int] = []

    @keeper.agent("curious")
    async def curious(turn: AgentTurn) -> str:
        seen.append(len(await keeper.nodes()))
        return "done"

    await keeper.chat("hello", agent="curious")

    assert seen == [1]


async def test_the_runs_of_a_session_are_none_that_a_client_keeps_under_its_id(keeper: Turnkeeper) -> None:
    mine = await keeper.chat("hello", principal=ADA)
    await keeper.chat("hello", principal=BEN, custody="client", session_id=mine.session_id)

    runs = await keeper.runs(mine.session_id, principal=ADA)

    assert [run.id for run in runs] == [mine.run_id]


async def test_a_way_of_double_texting_does_not_give_a_foreign_session_away(keeper: Turnkeeper) -> None:
    @keeper.agent("careful", allows=["enqueue"])
    async def careful(turn: AgentTurn) -> str:
        return "done"

    foreign = await keeper.chat("hello", agent="careful", principal=ADA)

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.chat("hi", session_id=foreign.session_id, principal=BEN, double_text="merge", on_missing="error")

    assert caught.value.code == "session_not_found"


async def test_an_unknown_session_is_replaced_whatever_the_way_of_double_texting(keeper: Turnkeeper) -> None:
    reply = await keeper.chat("hello", session_id="sess_nowhere", double_text="enqueue")

    assert reply.replaced_session_id == "sess_nowhere"


async def test_threads_of_sync_agents_do_not_keep_a_process_from_ending(keeper: Turnkeeper) -> None:
    threads: list[threading.Thread] = []

    @keeper.agent("sync")
    def sync(turn: AgentTurn) -> str:
        threads.append(threading.current_thread())
        return "done"

    await keeper.chat("hello", agent="sync")

    assert threads[0].daemon


def test_settings_show_neither_token_nor_address() -> None:
    shown = repr(Settings(database="postgresql://ada:hunter2@127.0.0.1/x", token="open sesame"))

    assert "hunter2" not in shown
    assert "sesame" not in shown
