"""What the model refuses to be, and what holds for every input."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnkeeper.model
from tests.contract.builders import AGENT, NODE, TENANT, USER, a_session, explanation_of, run_saying
from turnkeeper.ledger.trace import Trace
from turnkeeper.model.checkpoint import Ask, Checkpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.envelope import Command, Envelope
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.event import Event, EventType
from turnkeeper.model.ids import HOUSE, Fence, MessageId, RunId, SessionId, Subject, TenantId, TraceId, UserId
from turnkeeper.model.ids import sortable_id as an_id
from turnkeeper.model.lease import Lease
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.principal import Principal
from turnkeeper.model.run import Finish, RunInput, RunStatus
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.session import Custody, SessionStatus
from turnkeeper.model.thread import ThreadName
from turnkeeper.model.turn import Turn
from turnkeeper.ports.agent import AgentPolicy
from turnkeeper.settings import Settings
from turnkeeper.testing.clock import NOON

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LATER = NOON + timedelta(minutes=1)

SESSION = a_session()
RUN = run_saying("Hello", SESSION)
MESSAGE = Message(id=MessageId("msg_1"), seq=1, turn=1, epoch=1, role=Speaker.USER, content="Hello", created_at=NOON)
EPOCH = Epoch(number=1, started_at=NOON, first_seq=1)
PRINCIPAL = Principal(tenant=TENANT, user=USER)
ENVELOPE = Envelope(principal=PRINCIPAL, received_at=NOON, trace_id=TraceId("0" * 32), events=(Event(text="Hello"),))
TURN = Turn(number=1, run_id=RUN.id, epoch=1, messages=(MESSAGE,), state={}, finish=Finish.DONE, committed_at=NOON)
CHECKPOINT = Checkpoint(asks=(Ask(said="", question="For how many?"),))
LEASE = Lease(tenant=TENANT, subject=Subject(SESSION.id), run_id=RUN.id, holder=NODE, fence=Fence(1), expires_at=LATER)
CONTEXT = RunContext(
    run_id=RUN.id,
    trace_id=RUN.trace_id,
    session_id=SESSION.id,
    tenant=TENANT,
    user=USER,
    agent=AGENT,
    turn=1,
    epoch=1,
    deadline=LATER,
    history=(),
    params={},
    metadata={},
)

WRONG: list[tuple[Any, dict[str, Any]]] = [
    (SESSION, {"tenant": ""}),
    (SESSION, {"id": ""}),
    (SESSION, {"owner": ""}),
    (SESSION, {"agent": ""}),
    (SESSION, {"turns": 2, "revision": 1}),
    (SESSION, {"status": SessionStatus.CLOSED}),
    (SESSION, {"status": SessionStatus.EXPIRED}),
    (SESSION, {"closed_at": NOON}),
    (SESSION, {"idle_for_seconds": 0}),
    (MESSAGE, {"seq": 0}),
    (MESSAGE, {"turn": -1}),
    (MESSAGE, {"epoch": 0}),
    (EPOCH, {"number": 0}),
    (EPOCH, {"first_seq": 0}),
    (Event(text="Hello"), {"text": ""}),
    (Event(text="Hello"), {"text": " \n\t"}),
    (Event(text="Hello"), {"type": EventType.STRUCTURED_REQUEST}),
    (Event(text="Hello"), {"type": EventType.EVENT_ENVELOPE}),
    (ENVELOPE, {"events": ()}),
    (ENVELOPE, {"command": Command.RESET}),
    (ENVELOPE, {"answers": RUN.id}),
    (ENVELOPE, {"answers": RUN.id, "session_id": SESSION.id, "reset": True}),
    (ENVELOPE, {"answers": RUN.id, "session_id": SESSION.id, "events": (), "command": Command.RESET}),
    (ENVELOPE, {"custody": Custody.CLIENT, "session_id": SESSION.id, "answers": RUN.id}),
    (ENVELOPE, {"custody": Custody.CLIENT, "double_text": DoubleText.ENQUEUE}),
    (ENVELOPE, {"carried": {}}),
    (TURN, {"messages": ()}),
    (TURN, {"messages": (MESSAGE, replace(MESSAGE, turn=2))}),
    (TURN, {"messages": (MESSAGE, replace(MESSAGE, epoch=2))}),
    (TURN, {"number": 2}),
    (TURN, {"epoch": 2}),
    (CHECKPOINT, {"asks": ()}),
    (CHECKPOINT, {"asks": CHECKPOINT.asks * 2}),
    (LEASE, {"fence": Fence(0)}),
    (PRINCIPAL, {"tenant": ""}),
    (PRINCIPAL, {"user": ""}),
    (PRINCIPAL, {"tenant": HOUSE}),
    (CONTEXT, {"turn": 0}),
    (CONTEXT, {"epoch": 0}),
    (RUN, {"ended_at": NOON}),
    (RUN, {"status": RunStatus.RUNNING, "ended_at": NOON}),
    (RUN, {"status": RunStatus.WAITING, "ended_at": NOON}),
    *((RUN, {"status": status}) for status in RunStatus if not status.is_open),
    (AgentPolicy(), {"double_text": DoubleText.MERGE, "allows": frozenset({DoubleText.ENQUEUE})}),
    (AgentPolicy(), {"allows": frozenset()}),
    (AgentPolicy(), {"run_seconds": 0.0}),
    (AgentPolicy(), {"run_seconds": -1.0}),
    (Settings(), {"synchronous": "OFF"}),
    (Settings(), {"renew_seconds": 0.0}),
    (Settings(), {"renew_seconds": 15.0}),
    (Settings(), {"lease_seconds": 5.0}),
    (Settings(), {"port": -1}),
    (Settings(), {"port": 65_536}),
]


def named(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__


@pytest.mark.parametrize(("right", "changes"), WRONG, ids=named)
def test_nothing_of_the_model_can_exist_in_a_wrong_state(right: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(right, **changes)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Settings) if field.type in (int, float)])
def test_no_setting_is_negative(name: str) -> None:
    with pytest.raises(ValueError):
        replace(Settings(), **{name: -1})  # type: ignore[arg-type]


def types_of_the_model() -> Sequence[type[Any]]:
    modules = [
        importlib.import_module(f"turnkeeper.model.{found.name}")
        for found in pkgutil.iter_modules(turnkeeper.model.__path__)
    ]
    return [
        *(
            kind
            for module in modules
            for kind in vars(module).values()
            if isinstance(kind, type) and kind.__module__ == module.__name__ and dataclasses.is_dataclass(kind)
        ),
        AgentPolicy,
        Settings,
    ]


@pytest.mark.parametrize("kind", types_of_the_model(), ids=lambda kind: kind.__name__)
def test_every_type_of_the_model_is_frozen_and_takes_its_fields_by_name(kind: Any) -> None:
    assert kind.__dataclass_params__.frozen
    assert kind.__slots__ == tuple(field.name for field in dataclasses.fields(kind))
    assert all(field.kw_only for field in dataclasses.fields(kind) if field.init)


def test_a_session_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SESSION.title = "Another"  # type: ignore[misc]


# --- ids

moments = st.integers(min_value=0, max_value=2**48 - 1)
chances = st.integers(min_value=0, max_value=2**80 - 1)


@given(first=st.tuples(moments, chances), second=st.tuples(moments, chances))
def test_ids_sort_by_the_moment_they_were_made(first: tuple[int, int], second: tuple[int, int]) -> None:
    assert (an_id("run", *first) < an_id("run", *second)) == (first < second)


@given(first=st.tuples(moments, chances), second=st.tuples(moments, chances))
def test_ids_are_the_same_only_when_all_they_are_made_of_is(first: tuple[int, int], second: tuple[int, int]) -> None:
    assert (an_id("run", *first) == an_id("run", *second)) == (first == second)


@given(milliseconds=moments, randomness=chances)
def test_an_id_holds_its_moment_and_all_of_its_randomness_in_26_letters(milliseconds: int, randomness: int) -> None:
    prefix, _, letters = an_id("run", milliseconds, randomness).partition("_")

    value = 0
    for letter in letters:
        value = value * 32 + CROCKFORD.index(letter)
    assert prefix == "run"
    assert len(letters) == 26
    assert (value >> 80, value & (2**80 - 1)) == (milliseconds, randomness)


# --- turns

texts = st.text(min_size=1).filter(str.strip)
events = st.lists(st.builds(Event, text=texts), min_size=1, max_size=4).map(tuple)
asks = st.lists(st.builds(Ask, said=st.text(), question=texts, answer=texts), max_size=4).map(tuple)
sessions = st.builds(
    lambda turns, resets, last_seq: replace(
        SESSION,
        turns=turns,
        revision=turns + resets,
        last_seq=last_seq,
        epoch=Epoch(number=resets + 1, started_at=NOON, first_seq=1),
    ),
    turns=st.integers(0, 1000),
    resets=st.integers(0, 1000),
    last_seq=st.integers(0, 10_000),
)


def a_turn(session: Any, said: tuple[Event, ...], asked: tuple[Ask, ...], text: str, finish: Finish) -> Turn:
    run = replace(RUN, input=RunInput(events=said))
    return Turn.of(run, session, asks=asked, text=text, state={}, finish=finish, at=LATER)


@given(session=sessions, said=events, asked=asks, text=st.text(), finish=st.sampled_from(Finish))
def test_the_messages_of_a_turn_go_on_where_the_session_stands(
    session: Any, said: tuple[Event, ...], asked: tuple[Ask, ...], text: str, finish: Finish
) -> None:
    turn = a_turn(session, said, asked, text, finish)

    count = len(turn.messages)
    assert [message.seq for message in turn.messages] == [session.last_seq + 1 + place for place in range(count)]
    assert (turn.first_seq, turn.last_seq) == (session.last_seq + 1, session.last_seq + count)
    assert {(message.turn, message.epoch) for message in turn.messages} == {(session.turns + 1, session.epoch.number)}
    assert len({message.id for message in turn.messages}) == count


@given(said=events, asked=asks, text=st.text())
def test_a_turn_is_what_the_user_sent_then_each_question_with_its_answer_then_the_text(
    said: tuple[Event, ...], asked: tuple[Ask, ...], text: str
) -> None:
    turn = a_turn(SESSION, said, asked, text, Finish.DONE)

    sent = [(Speaker.USER, event.text) for event in said]
    between = [line for ask in asked for line in ((Speaker.ASSISTANT, ask.shown), (Speaker.USER, ask.answer))]
    assert [(message.role, message.content) for message in turn.messages] == [
        *sent,
        *between,
        (Speaker.ASSISTANT, text),
    ]


@given(said=events, asked=asks)
def test_a_turn_that_was_interrupted_before_its_text_has_no_message_for_it(
    said: tuple[Event, ...], asked: tuple[Ask, ...]
) -> None:
    turn = a_turn(SESSION, said, asked, "", Finish.INTERRUPTED)

    assert len(turn.messages) == len(said) + 2 * len(asked)
    assert turn.messages[-1].role is Speaker.USER


@given(said=events, text=texts, finish=st.sampled_from(Finish))
def test_a_message_is_dated_when_it_was_said(said: tuple[Event, ...], text: str, finish: Finish) -> None:
    turn = a_turn(SESSION, said, (), text, finish)

    assert {message.created_at for message in turn.messages[:-1]} == {RUN.accepted_at}
    assert turn.messages[-1].created_at == LATER


# --- messages that are answered as one

names = st.sampled_from("abc")
inputs = st.builds(
    RunInput,
    events=events,
    reset=st.booleans(),
    params=st.dictionaries(names, st.integers()),
    metadata=st.dictionaries(names, st.integers()),
)


@given(first=inputs, second=inputs)
def test_two_messages_answered_as_one_keep_their_order_and_the_later_wins(first: RunInput, second: RunInput) -> None:
    both = first.followed_by(second)

    assert both.events == (*first.events, *second.events)
    assert both.reset == (first.reset or second.reset)
    assert both.params == {**first.params, **second.params}
    assert both.metadata == {**first.metadata, **second.metadata}


@given(first=inputs, second=inputs, third=inputs)
def test_it_does_not_matter_which_two_of_three_messages_were_merged_first(
    first: RunInput, second: RunInput, third: RunInput
) -> None:
    assert first.followed_by(second).followed_by(third) == first.followed_by(second.followed_by(third))


# --- questions


@given(answers=st.lists(texts, min_size=1, max_size=5))
def test_an_answer_closes_the_open_question_and_leaves_those_before_it(answers: list[str]) -> None:
    checkpoint = CHECKPOINT.answered(answers[0])
    for answer in answers[1:]:
        checkpoint = Checkpoint(asks=(*checkpoint.asks, Ask(said="", question="And then?"))).answered(answer)

    assert [ask.answer for ask in checkpoint.asks] == answers


# --- why

decisions: dict[str, Callable[[Trace, str], None]] = {
    "begin": lambda trace, name: trace.begin(name),
    "end": lambda trace, _: trace.end(),
    "note": lambda trace, name: trace.note(name),
}
walks = st.lists(st.tuples(st.sampled_from(sorted(decisions)), st.sampled_from(["open_session", "reset", "hand_off"])))


@given(walk=walks)
def test_the_graph_of_an_explanation_is_one_line_through_all_stages_with_no_loose_end(
    walk: list[tuple[str, str]],
) -> None:
    trace = Trace()
    for decision, name in walk:
        decisions[decision](trace, name)

    graph = replace(explanation_of(RUN), stages=trace.stages()).graph

    ids = [node.id for node in graph.nodes]
    assert [node.label for node in graph.nodes] == [stage.name for stage in trace.stages()]
    assert [(edge.source, edge.target) for edge in graph.edges] == list(pairwise(ids))


@given(walk=walks)
def test_after_its_end_no_step_is_open_and_none_took_less_than_nothing(walk: list[tuple[str, str]]) -> None:
    trace = Trace()
    for decision, name in walk:
        decisions[decision](trace, name)
    trace.end()

    assert trace.step is None
    assert all(stage.began_us >= 0 and stage.took_us >= 0 for stage in trace.stages())


# --- who


@given(idle=st.integers(1, 10_000), waited=st.integers(0, 20_000))
def test_a_session_is_idle_too_long_from_the_very_moment_it_expires(idle: int, waited: int) -> None:
    session = replace(SESSION, idle_for_seconds=idle)

    assert session.is_idle_too_long(NOON + timedelta(seconds=waited)) == (waited >= idle)


def test_a_principal_of_another_tenant_opens_nothing() -> None:
    stranger = Principal(tenant=TenantId("globex"), user=UserId("ada"))

    assert a_session(id=SessionId("sess_1")).is_open_to(PRINCIPAL)
    assert not a_session(id=SessionId("sess_1")).is_open_to(stranger)


def test_a_new_attempt_has_its_own_id_and_all_the_time_of_the_first() -> None:
    again = RUN.again(RunId("run_2"), LATER)

    assert (again.id, again.retry_of, again.status) == ("run_2", RUN.id, RunStatus.QUEUED)
    assert again.wait_until - again.accepted_at == RUN.wait_until - RUN.accepted_at
    assert (again.input, again.queue_no) == (RUN.input, RUN.queue_no)


def test_two_messages_that_are_answered_as_one_have_the_grants_that_both_callers_hold() -> None:
    every, some, other = RunInput(grants=None), RunInput(grants=("a", "b")), RunInput(grants=("b", "c"))

    assert some.followed_by(other).grants == ("b",)
    assert every.followed_by(some).grants == some.followed_by(every).grants == ("a", "b")
    assert every.followed_by(every).grants is None


@pytest.mark.parametrize("id", ["plain", "a:b", "a%3Ab", "%", "%25", ":", "a%"])
def test_a_thread_tells_whose_it_is_whatever_its_session_is_called(id: str) -> None:
    name = ThreadName(tenant=TenantId("acme"), session_id=SessionId(id), epoch=2, agent=AGENT, user=UserId("ada"))

    assert ThreadName.of(str(name)) == name
