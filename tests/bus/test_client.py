"""A client of the bus is the one who remembers: it sends its whole session, and takes over what others made of it."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bus.assistant import Assistant, Session
from tests.bus.wire import Participant, eventually
from turnkeeper.bus import topics
from turnkeeper.bus.message import Message
from turnkeeper.bus.relay import Relay
from turnkeeper.client import BusClient, End, FileKeep, MemoryKeep, SessionKeep, SqliteKeep
from turnkeeper.errors import BusUnreachable


@pytest.fixture
async def relay() -> AsyncIterator[Relay]:
    async with Relay(port=0) as relay:
        yield relay


@pytest.fixture(params=["memory", "file", "sqlite"])
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> SessionKeep:
    if request.param == "memory":
        return MemoryKeep()
    return FileKeep(tmp_path / "session.json") if request.param == "file" else SqliteKeep(tmp_path / "sessions.db")


def counting(session: Session, text: str) -> Session:
    """What an assistant that counts in the session makes of it, beside what it does not know."""
    return {**session, "x_count": session.get("x_count", 0) + 1}


@pytest.mark.parametrize(
    ("text", "end", "spoken", "error"),
    [
        ("say hello", End.COMPLETED, ("say hello",), None),
        ("raise it", End.FAILED, ("raise it",), "KeyError: 'x'"),
        ("hang on", End.TIMED_OUT, (), "timeout after 300 s"),
        ("unknown words", End.UNMATCHED, (), None),
        ("cancel that", End.CANCELLED, (), "stop_word"),
    ],
)
async def test_an_answer_says_what_was_spoken_and_how_the_round_ended(
    relay: Relay, text: str, end: End, spoken: tuple[str, ...], error: str | None
) -> None:
    async with Assistant(relay.url), BusClient(relay.url, session_id="kitchen") as client:
        answer = await client.say(text)

    assert (answer.end, answer.spoken, answer.error) == (end, spoken, error)


async def test_an_answer_says_who_gave_it_and_whether_it_is_a_question(relay: Relay) -> None:
    async with Assistant(relay.url), BusClient(relay.url, session_id="kitchen") as client:
        answer = await client.say("ask me")

    assert (answer.skill_id, answer.intent_name) == ("echo.skill", "say")
    assert answer.is_question
    assert answer.text == "which one?"


async def test_ovos_68_every_message_carries_the_whole_session(relay: Relay) -> None:
    async with (
        Assistant(relay.url, counting),
        Participant(relay.url) as observer,
        BusClient(relay.url, session_id="kitchen", source="the client") as client,
    ):
        client.change(lang="nl-NL", x_vendor={"deep": [1]})
        await client.say("one")
        client.emit("some.topic", {"n": 1})
        await client.say("two")
        client.emit("the.end")
        await observer.hears("the.end")

    own = [each for each in observer.heard if each.type in (topics.UTTERANCE, "some.topic", "the.end")]
    whole = {"session_id": "kitchen", "lang": "nl-NL", "x_vendor": {"deep": [1]}}
    assert [each.session for each in own] == [
        whole,
        {**whole, "x_count": 1},
        {**whole, "x_count": 1},
        {**whole, "x_count": 2},
    ]


async def test_ovos_15_16_a_client_that_starts_again_goes_on_where_it_was(relay: Relay, keep: SessionKeep) -> None:
    async with Assistant(relay.url, counting) as assistant:
        for _ in range(3):
            async with BusClient(relay.url, session_id="kitchen", keep=keep) as client:
                await client.say("count")
                assert keep.load("kitchen") == client.session

    assert [each.get("x_count") for each in assistant.asks] == [None, 1, 2]


async def test_ovos_15_without_what_it_kept_a_client_begins_anew(relay: Relay, tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    async with Assistant(relay.url, counting) as assistant:
        for _ in range(2):
            async with BusClient(relay.url, session_id="kitchen", keep=FileKeep(file)) as client:
                await client.say("count")
            file.unlink()

    assert assistant.asks == [{"session_id": "kitchen"}] * 2


async def test_ovos_70_each_round_is_enough_for_an_assistant_that_never_saw_the_session(relay: Relay) -> None:
    async with BusClient(relay.url, session_id="kitchen") as client:
        for _ in range(3):
            async with Assistant(relay.url, counting):
                await client.say("count")

        assert client.session["x_count"] == 3


async def test_ovos_47_at_the_end_of_a_round_the_session_is_what_the_round_left(relay: Relay) -> None:
    def shortened(session: Session, text: str) -> Session:
        return {"session_id": session["session_id"], "site_id": "hall", "x_new": None}

    async with Assistant(relay.url, shortened), BusClient(relay.url, session_id="kitchen") as client:
        client.change(lang="nl-NL", response_mode={"skill_id": "a", "expires_at": 1})
        await client.say("go")

        assert client.session == {"session_id": "kitchen", "site_id": "hall"}


async def test_ovos_45_adopting_at_the_end_leaves_the_session_alone_until_then(relay: Relay) -> None:
    async with Participant(relay.url) as other, BusClient(relay.url, session_id="kitchen") as client:
        await heard_by(client, other, about("kitchen", topics.SPEAK, site_id="hall"))

        assert client.session == {"session_id": "kitchen"}


async def test_ovos_28_43_45_69_adopting_the_latest_takes_over_whatever_has_the_id_of_the_session(relay: Relay) -> None:
    async with (
        Participant(relay.url) as other,
        BusClient(relay.url, session_id="kitchen", adopt="latest") as client,
    ):
        client.change(lang="nl-NL")
        await heard_by(client, other, about("kitchen", topics.SPEAK, site_id="hall"))
        assert client.session == {"session_id": "kitchen", "lang": "nl-NL", "site_id": "hall"}

        await heard_by(client, other, about("bathroom", topics.SPEAK, site_id="bath"))
        await heard_by(client, other, Message(type=topics.SPEAK, context={"session": {"site_id": "elsewhere"}}))
        assert client.session["site_id"] == "hall"

        client.emit("some.topic")
        (carried,) = await other.hears("some.topic")
        assert carried.session["site_id"] == "hall"


async def test_an_echo_of_what_the_client_said_does_not_undo_what_it_became_since(relay: Relay) -> None:
    async with (
        Participant(relay.url) as other,
        BusClient(relay.url, session_id="kitchen", adopt="latest") as client,
    ):
        await client.connected()
        client.emit("some.topic")
        client.change(lang="nl-NL")
        await heard_by(client, other, Message(type="later"))

        assert client.session == {"session_id": "kitchen", "lang": "nl-NL"}


@pytest.mark.parametrize("adopt", ["handled", "latest"])
async def test_ovos_42_a_sync_is_merged_field_by_field_for_its_own_session_only(relay: Relay, adopt: Any) -> None:
    def sync(session_id: str, session: Any, **carried: Any) -> Message:
        context = {"session": {"session_id": session_id, **carried}}
        return Message(type=topics.SYNC, data={"session": session}, context=context)

    async with (
        Participant(relay.url) as other,
        BusClient(relay.url, session_id="kitchen", adopt=adopt) as client,
    ):
        client.change(lang="nl-NL", site_id="hall")
        await heard_by(client, other, sync("kitchen", {"lang": "pt-PT", "x_new": 1}, site_id="not this"))
        for ignored in (sync("bathroom", {"lang": "fr-FR"}), sync("kitchen", [1]), sync("kitchen", None)):
            await heard_by(client, other, ignored)

        assert client.session == {"session_id": "kitchen", "lang": "pt-PT", "site_id": "hall", "x_new": 1}


async def test_what_two_rounds_at_once_changed_is_all_kept(relay: Relay) -> None:
    def named(session: Session, text: str) -> Session:
        return {**session, f"x_{text}": True}

    async with Assistant(relay.url, named), BusClient(relay.url, session_id="kitchen") as client:
        answers = await asyncio.gather(*(client.say(f"n{number}") for number in range(5)))

        assert [answer.spoken for answer in answers] == [(f"n{number}",) for number in range(5)]
        assert {f"x_n{number}" for number in range(5)} <= client.session.keys()


async def test_a_round_within_a_round_does_not_end_it(relay: Relay) -> None:
    async with Participant(relay.url) as other, BusClient(relay.url, session_id="kitchen", legacy=False) as client:
        saying = asyncio.create_task(client.say("outer"))
        (asked,) = await other.hears(topics.UTTERANCE)
        for type, utterance_id in (
            (topics.START, "outer"),
            (topics.SPEAK, "inner"),
            (topics.HANDLED, "inner"),
            (topics.SPEAK, "outer"),
            (topics.HANDLED, "outer"),
        ):
            other.link.send(asked.forward(type, {"utterance": utterance_id}).carrying({}, utterance_id=utterance_id))

        assert (await saying).spoken == ("outer",)


async def test_the_default_session_is_sent_empty_and_never_taken_over(relay: Relay) -> None:
    async with Assistant(relay.url, counting) as assistant, BusClient(relay.url) as client:
        assert (await client.say("one")).spoken == ("one",)
        await client.say("two")
        client.change(site_id="kitchen")
        await client.say("three")

        assert assistant.asks == [{}, {}, {"site_id": "kitchen"}]


async def test_an_utterance_that_nobody_ends_is_waited_for_only_so_long(relay: Relay) -> None:
    async with Assistant(relay.url), BusClient(relay.url, session_id="kitchen", legacy=False) as client:
        with pytest.raises(TimeoutError):
            await client.say("silent", seconds=0.05)

        assert (await client.say("say hello")).spoken == ("say hello",)


async def test_a_client_comes_back_with_its_session_and_with_what_waited() -> None:
    first = Relay(port=0)
    await first.start()
    async with BusClient(first.url, session_id="kitchen") as client:
        async with Assistant(first.url, counting):
            await client.say("one")
        await first.close()
        await eventually(lambda: not client._link.is_open)
        client.emit("waited")

        async with Relay(port=first.port) as second:
            await eventually(lambda: second.counts.frames_in == 1)
            async with Assistant(second.url, counting) as assistant:
                await client.say("two")

    assert assistant.asks == [{"session_id": "kitchen", "x_count": 1}]


async def test_whoever_waits_when_a_client_is_closed_is_told(relay: Relay) -> None:
    async with BusClient(relay.url, session_id="kitchen", legacy=False) as client:
        saying = asyncio.create_task(client.say("silent"))
        await asyncio.sleep(0)

    with pytest.raises(BusUnreachable):
        await saying


# --- those who know the old names only


def old_assistant(message: Message) -> list[Message]:
    """Answers as assistants did before the specifications: other names, and the context goes through as it came."""
    if message.type != "recognizer_loop:utterance":
        return []
    text = message.data["utterances"][0]
    if text.startswith("unknown"):
        return [message.reply("complete_intent_failure"), message.reply(topics.HANDLED)]
    if text.startswith("raise"):
        return [message.reply(topics.FAILED, {"exception": "KeyError"}), message.reply(topics.HANDLED)]
    return [message.reply("speak", {"utterance": text, "expect_response": True}), message.reply(topics.HANDLED)]


@pytest.mark.parametrize("legacy", [True, None])
async def test_an_assistant_that_knows_only_the_old_names_is_understood(relay: Relay, legacy: bool | None) -> None:
    async with (
        Participant(relay.url, old_assistant) as old,
        BusClient(relay.url, session_id="kitchen", legacy=legacy, silent_seconds=0.02) as client,
    ):
        answer = await client.say("hello")
        assert (answer.spoken, answer.end, answer.is_question) == (("hello",), End.COMPLETED, True)
        assert (await client.say("unknown words")).end is End.UNMATCHED
        assert (await client.say("raise it")).end is End.FAILED

    # Once found out, the new name is not tried again.
    assert len(old.of(topics.UTTERANCE)) == (0 if legacy else 1)


async def test_what_comes_under_both_names_is_heard_once(relay: Relay) -> None:
    def both(message: Message) -> list[Message]:
        if message.type != topics.UTTERANCE:
            return []
        spoken = message.reply(topics.SPEAK, {"utterance": "hello"})
        twin = message.reply("speak", {"utterance": "hello"}).carrying(message.session, _namespace_compat_twin=True)
        return [spoken, twin, message.reply(topics.HANDLED)]

    async with Participant(relay.url, both), BusClient(relay.url, session_id="kitchen") as client:
        assert (await client.say("hello")).spoken == ("hello",)


# --- what is kept


def test_a_kept_session_comes_back_as_it_was_and_alone(keep: SessionKeep) -> None:
    session = {"session_id": "kitchen", "lang": "nl-NL", "x_vendor": {"é": [1, None, "漢字"]}}

    assert keep.load("kitchen") is None
    keep.save("kitchen", {"session_id": "kitchen"})
    keep.save("kitchen", session)

    assert keep.load("kitchen") == session


def test_what_is_kept_in_files_is_for_its_owner_only(tmp_path: Path) -> None:
    keeps: tuple[tuple[Callable[[Path], SessionKeep], str], ...] = ((FileKeep, "a.json"), (SqliteKeep, "a.db"))
    for kind, name in keeps:
        kind(tmp_path / name).save("kitchen", {"session_id": "kitchen"})

        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "a.json"]


def test_one_database_keeps_many_sessions(tmp_path: Path) -> None:
    keep = SqliteKeep(tmp_path / "sessions.db")
    keep.save("kitchen", {"session_id": "kitchen"})
    keep.save("hall", {"session_id": "hall"})

    assert keep.load("kitchen") == {"session_id": "kitchen"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"session_id":"hall"}'])
def test_a_file_that_holds_something_else_is_never_overwritten_unseen(tmp_path: Path, text: str) -> None:
    file = tmp_path / "session.json"
    file.write_text(text)

    with pytest.raises(ValueError, match="choose another file"):
        FileKeep(file).load("kitchen")


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    keep = FileKeep(tmp_path / "session.json")
    keep.save("kitchen", {"session_id": "kitchen", "lang": "nl-NL"})

    with pytest.raises(TypeError):
        keep.save("kitchen", {"x": object()})
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        FileKeep(tmp_path / "folder").save("kitchen", {})

    assert json.loads((tmp_path / "session.json").read_text())["lang"] == "nl-NL"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "session.json"]


# --- how they are spoken of


def about(session_id: str, type: str, **fields: Any) -> Message:
    return Message(type=type, context={"session": {"session_id": session_id, **fields}})


async def heard_by(client: BusClient, other: Participant, message: Message) -> None:
    """Have it said, and return once the client has heard it too."""
    seen: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    mark = f"mark.{id(seen)}"
    client._on_message = lambda heard: seen.set_result(None) if heard.type == mark else None
    await client.connected()
    other.link.send(message)
    other.link.send(Message(type=mark))
    await asyncio.wait_for(seen, 20)
