"""A chat model is asked over real HTTP, and whatever it does, the turn knows what happened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tests.story.scripted_model import Answer, a_model, saying, saying_json
from tests.symbolic import Talk, unit
from turnkeeper.agents.chat_model import HttpChatModel
from turnkeeper.agents.symbolic import prompts
from turnkeeper.model.budget import BudgetLimits
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.unit import PhaseScope, Unit, UnitRole
from turnkeeper.ports.chat_model import ChatMessage, ChatRole, ModelFailed, ModelFault
from turnkeeper.ports.plugins import PluginKind
from turnkeeper.settling import settings_from
from turnkeeper.wiring import SystemClock

KEY = "sk-very-secret"
HELLO = [ChatMessage(role=ChatRole.USER, content="Hello")]
PORT = unit("The port is 80.", "port")
ONE_UNIT = {"role": "Description", "topic": "port", "claim": "The port is 80."}


def soon(seconds: float = 5.0) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def client(url: str, *, seconds: float = 2.0, retries: int = 2) -> HttpChatModel:
    return HttpChatModel(
        url=url,
        name="small",
        key=KEY,
        clock=SystemClock(),
        seconds=seconds,
        retries=retries,
        pause_seconds=0.001,
    )


async def fault_of(*script: Answer, seconds: float = 2.0, retries: int = 0) -> tuple[ModelFault, int]:
    """What went wrong, and how often the model was asked."""
    async with a_model(*script) as model:
        with pytest.raises(ModelFailed) as failed:
            await client(model.url, seconds=seconds, retries=retries).complete(HELLO, deadline=soon())
        return failed.value.fault, len(model.asked)


async def test_a_model_is_asked_as_every_openai_compatible_server_expects() -> None:
    async with a_model(saying("Good day.")) as model:
        completion = await client(model.url).complete(HELLO, deadline=soon(), json=True, model="larger")

    (asked,) = model.asked
    assert (completion.text, completion.model) == ("Good day.", "scripted-1")
    assert (completion.tokens_in, completion.tokens_out) == (12, 3)
    assert (asked.path, asked.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert asked.body == {
        "model": "larger",
        "messages": [{"role": "user", "content": "Hello"}],
        "response_format": {"type": "json_object"},
    }


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer(status=429), ModelFault.BUSY),
        (Answer(status=500), ModelFault.BROKEN),
        (Answer(status=503), ModelFault.BROKEN),
        (Answer(status=401), ModelFault.NOT_ALLOWED),
        (Answer(status=403), ModelFault.NOT_ALLOWED),
        (Answer(status=400), ModelFault.REQUEST_REFUSED),
        (Answer(status=302, headers={"Location": "http://127.0.0.1:1/"}), ModelFault.REQUEST_REFUSED),
        (Answer(hang_up=True), ModelFault.UNREACHABLE),
        (Answer(body=b"<html>"), ModelFault.ANSWER_UNREADABLE),
        (Answer(body=b"no gzip", headers={"Content-Encoding": "gzip"}), ModelFault.ANSWER_UNREADABLE),
        (Answer(status=429, headers={"Retry-After": "\u00b2"}), ModelFault.BUSY),
        (Answer(status=429, headers={"Retry-After": "9" * 5_000}), ModelFault.BUSY),
        (Answer(body=b'{"choices": "none"}'), ModelFault.ANSWER_UNREADABLE),
        (Answer(body=b'{"choices": []}'), ModelFault.ANSWER_UNREADABLE),
        (Answer(body=b"\xff\xfe"), ModelFault.ANSWER_UNREADABLE),
        (saying(None), ModelFault.ANSWER_UNREADABLE),
        (saying(""), ModelFault.ANSWER_UNREADABLE),
        (saying(None, refusal="I would rather not."), ModelFault.ANSWER_REFUSED),
        (saying("Half", finish="content_filter"), ModelFault.ANSWER_REFUSED),
        (saying("Half an ans", finish="length"), ModelFault.ANSWER_TOO_LARGE),
        (saying("x" * 1_100_000), ModelFault.ANSWER_TOO_LARGE),
        (Answer(body=b"{}", headers={"Content-Length": "100"}), ModelFault.UNREACHABLE),
    ],
)
async def test_whatever_a_model_does_wrong_has_a_name(answer: Answer, fault: ModelFault) -> None:
    assert await fault_of(answer) == (fault, 1)


async def test_a_model_that_nobody_serves_is_unreachable() -> None:
    async with a_model(saying("")) as model:
        url = model.url

    with pytest.raises(ModelFailed) as failed:
        await client(url, retries=0).complete(HELLO, deadline=soon())

    assert failed.value.fault is ModelFault.UNREACHABLE


@pytest.mark.parametrize("url", ["ftp://example.org", "nonsense", "http://"])
async def test_an_address_that_is_none_is_said_to_be_none(url: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        await client(url, retries=0).complete(HELLO, deadline=soon())

    assert failed.value.fault in (ModelFault.REQUEST_REFUSED, ModelFault.UNREACHABLE)


async def test_a_model_that_takes_too_long_is_left_and_not_asked_again() -> None:
    assert await fault_of(Answer(after=30, body=b"{}"), seconds=0.3, retries=2) == (ModelFault.TIMED_OUT, 1)


async def test_a_model_is_not_waited_for_beyond_the_deadline_of_the_run() -> None:
    async with a_model(Answer(after=30, body=b"{}")) as model:
        with pytest.raises(ModelFailed, match=r"within 0\.\d+ seconds"):
            await client(model.url, seconds=30).complete(HELLO, deadline=soon(0.3))


@pytest.mark.parametrize("bad", [Answer(status=429), Answer(status=502), Answer(hang_up=True)])
async def test_what_may_pass_is_tried_again(bad: Answer) -> None:
    async with a_model(bad, bad, saying("At last.")) as model:
        completion = await client(model.url).complete(HELLO, deadline=soon())

    assert (completion.text, len(model.asked)) == ("At last.", 3)


async def test_a_model_is_tried_again_only_so_often() -> None:
    assert await fault_of(Answer(status=503), retries=2) == (ModelFault.BROKEN, 3)


async def test_what_will_not_pass_is_not_tried_again() -> None:
    assert await fault_of(Answer(status=401), retries=2) == (ModelFault.NOT_ALLOWED, 1)


async def test_the_wait_that_a_model_asks_for_is_kept_if_there_is_time() -> None:
    busy = Answer(status=429, headers={"Retry-After": "0"})
    async with a_model(busy, saying("Now.")) as model:
        completion = await client(model.url).complete(HELLO, deadline=soon())

    assert completion.text == "Now."


@pytest.mark.parametrize("wait", ["3600", "Fri, 01 Jan 2100 00:00:00 GMT"])
async def test_a_wait_beyond_the_deadline_is_not_begun(wait: str) -> None:
    busy = Answer(status=429, headers={"Retry-After": wait})

    began = asyncio.get_running_loop().time()
    fault = await fault_of(busy, saying("Never."), retries=2)

    assert fault == (ModelFault.BUSY, 1)
    assert asyncio.get_running_loop().time() - began < 1.0


async def test_a_wait_that_makes_no_sense_is_passed_over() -> None:
    busy = Answer(status=503, headers={"Retry-After": "soon"})
    async with a_model(busy, saying("Now.")) as model:
        completion = await client(model.url).complete(HELLO, deadline=soon())

    assert completion.text == "Now."


@pytest.mark.parametrize("key", ["sk-geheim\n", "sk-gehe\u00efm", "sk\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="model_key") as refused:
        settings_from({"TURNKEEPER_MODEL_KEY": key})

    assert "geh" not in str(refused.value)


# --- sd-llm


def talk_with(url: str, *, known: Sequence[Unit] = (), model_calls: int = 5) -> Talk:
    return Talk(
        model=client(url, retries=0),
        known=list(known),
        limits=BudgetLimits(model_calls=model_calls),
        now=SystemClock(),
    )


DETECT = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-llm", PluginKind.GOAL_SOLVER: "gs-symbolic"})
PREFER_DETECT = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-llm"})
SOLVE = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-symbolic", PluginKind.GOAL_SOLVER: "gs-llm"})


async def test_fact_18_a_detector_with_a_model_asks_it_once_and_hashes_what_it_says() -> None:
    async with a_model(saying_json(units=[ONE_UNIT], questions=["What is the port?"])) as model:
        told = await talk_with(model.url).say("Le port est 80. What is the port?", DETECT)

    (staged,) = told.turn.staged_units
    assert told.text == "The port is 80 [1]."
    assert (staged.id, staged.role, staged.phase_scopes) == (
        "staged::unit-001",
        UnitRole.DESCRIPTION,
        (PhaseScope.KNOWLEDGE,),
    )
    assert staged.hash is not None
    assert (told.budget.model_calls, len(model.asked)) == (1, 1)
    assert told.notes.model == "scripted-1"


@pytest.mark.parametrize(
    "bad",
    [
        saying("Here are your units: none"),
        saying_json(units=[{**ONE_UNIT, "colour": "red"}], questions=[]),
        saying_json(units=[{**ONE_UNIT, "role": "Poem"}], questions=[]),
        saying_json(units=[{**ONE_UNIT, "subject": "port"}], questions=[]),
        saying_json(units=[{"role": "Procedure", "topic": "port", "claim": "The port."}], questions=[]),
        saying_json(units=[{**ONE_UNIT, "claim": "  "}], questions=[]),
        saying_json(units=[{**ONE_UNIT, "scopes": []}], questions=[]),
        saying_json(units=[ONE_UNIT] * 51, questions=[]),
        saying_json(units=[{**ONE_UNIT, "claim": "The port\x00 is 80."}], questions=[]),
        saying_json(units=[{**ONE_UNIT, "claim": "The port " * 300}], questions=[]),
        saying_json(units=[], questions=["What\x00?"]),
        saying_json(units=[], questions=["What" * 600]),
        saying_json(questions=[]),
    ],
)
async def test_a_reply_that_cannot_be_used_is_mended_once(bad: Answer) -> None:
    async with a_model(bad, saying_json(units=[ONE_UNIT], questions=[])) as model:
        told = await talk_with(model.url).say("Le port est 80.", DETECT)

    assert [each.content for each in told.turn.staged_units] == ["The port is 80."]
    assert told.budget.model_calls == 2
    assert "could not be used" in model.asked[1].body["messages"][-1]["content"]


async def test_a_detector_whose_model_cannot_be_mended_gives_way_to_the_rules() -> None:
    async with a_model(saying("no JSON")) as model:
        talk = talk_with(model.url)
        talk.preferred = PREFER_DETECT
        told = await talk.say("Hello!")

    assert told.executions()[:2] == [("sd-llm", "error"), ("sd-symbolic", "success")]
    assert len(model.asked) == 2


@pytest.mark.parametrize("bad", [Answer(status=500), Answer(status=429), Answer(hang_up=True), Answer(status=401)])
async def test_a_model_that_is_down_never_stops_a_turn(bad: Answer) -> None:
    async with a_model(bad) as model:
        talk = talk_with(model.url, known=[PORT])
        talk.preferred = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-llm", PluginKind.GOAL_SOLVER: "gs-llm"})
        told = await talk.say("What is the port?")

    assert told.text == "The port is 80 [1]."
    assert [status for plugin, status in told.executions() if plugin in ("sd-llm", "gs-llm")] == ["error", "error"]


async def test_a_json_reply_in_a_fence_is_read() -> None:
    async with a_model(saying('```json\n{"units": [], "questions": ["Why?"]}\n```')) as model:
        told = await talk_with(model.url).say("Pourquoi?", DETECT)

    assert [group["question"] for group in told.document["groups"]] == ["Why?"]


# --- gs-llm


async def test_a_solver_with_a_model_cites_what_it_was_given() -> None:
    async with a_model(saying_json(known=True, answer="It is port 80. [1] That is the usual one.")) as model:
        told = await talk_with(model.url, known=[PORT]).say("What is the port?", SOLVE)

    assert told.text == "It is port 80 [1]. That is the usual one."
    assert [source["content"] for source in told.document["sources"]] == ["The port is 80."]
    assert '"says":"The port is 80."' in model.asked[0].body["messages"][1]["content"]


async def test_a_solver_with_a_model_that_does_not_know_says_so() -> None:
    async with a_model(saying_json(known=False, answer="The evidence does not say.")) as model:
        told = await talk_with(model.url).say("What is the port?", SOLVE)

    assert (told.text, told.notes.status) == ("The evidence does not say.", "no-context")


@pytest.mark.parametrize(
    "bad",
    [
        saying_json(known=True, answer="It is port 80. [7]"),
        saying_json(known=True, answer=""),
        saying_json(known=True, answer="It is port 81."),
        saying_json(known=True, answer="It is\x00 port 80. [1]"),
        saying_json(known=True, answer="80. [1] " * 3_000),
        saying_json(answer="80"),
        saying("80"),
    ],
)
async def test_an_answer_that_is_not_held_to_its_evidence_is_no_answer(bad: Answer) -> None:
    async with a_model(bad) as model:
        talk = talk_with(model.url, known=[PORT])
        talk.preferred = Preferences(plugins={PluginKind.GOAL_SOLVER: "gs-llm"})
        told = await talk.say("What is the port?")

    assert told.text == "The port is 80 [1]."
    assert ("gs-llm", "error") in told.executions()


async def test_a_model_that_knows_without_evidence_gives_way_to_the_rules() -> None:
    async with a_model(saying_json(known=True, answer="It is port 81.")) as model:
        talk = talk_with(model.url)
        talk.preferred = Preferences(plugins={PluginKind.GOAL_SOLVER: "gs-llm"})
        told = await talk.say("What is the port?")

    assert told.notes.status == "no-context"
    assert "81" not in told.text


async def test_what_a_model_says_cannot_steer_a_terminal() -> None:
    said = {**ONE_UNIT, "claim": "The port\x1b[2J is 80."}
    async with a_model(
        saying_json(units=[said], questions=["What is\x1b the port?"]),
        saying_json(known=True, answer="It is\x1b]0;x\x07 80. [1]"),
    ) as model:
        both = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-llm", PluginKind.GOAL_SOLVER: "gs-llm"})
        told = await talk_with(model.url).say("Le port est 80.", both)

    assert told.text == "It is]0;x 80 [1]."
    assert [each.content for each in told.turn.staged_units] == ["The port[2J is 80."]
    assert [group["question"] for group in told.document["groups"]] == ["What is the port?"]


async def test_rules_are_asked_before_a_model_and_a_model_only_where_they_do_not_know() -> None:
    async with a_model(saying_json(known=False, answer="Nobody knows.")) as model:
        talk = talk_with(model.url, known=[PORT])
        known = await talk.say("What is the port?")
        unknown = await talk.say("What is the colour of the sea?")

    assert (known.budget.model_calls, unknown.budget.model_calls) == (0, 1)


async def test_no_model_is_asked_to_acknowledge_a_statement() -> None:
    async with a_model(saying_json(known=True, answer="Nice.")) as model:
        told = await talk_with(model.url).say("Hello!", SOLVE)

    assert (told.text, model.asked) == ("Hello! Tell me what I should know, or ask me something.", [])


async def test_without_calls_left_the_rules_answer_alone() -> None:
    async with a_model(saying_json(known=True, answer="80.")) as model:
        talk = talk_with(model.url, known=[PORT], model_calls=0)
        talk.preferred = Preferences(plugins={PluginKind.GOAL_SOLVER: "gs-llm"})
        told = await talk.say("What is the port?")

    assert (told.text, model.asked) == ("The port is 80 [1].", [])
    assert ("gs-llm", "skipped-budget") in told.executions()


async def test_the_model_that_a_request_names_is_asked_for() -> None:
    async with a_model(saying_json(known=False, answer="No idea.")) as model:
        chosen = Preferences(plugins=SOLVE.plugins, model="larger")
        await talk_with(model.url).say("What is the port?", chosen)

    assert model.asked[0].body["model"] == "larger"


async def test_fault_27_the_prompt_that_ships_is_the_one_that_is_sent() -> None:
    async with a_model(saying_json(units=[], questions=["Why?"]), saying_json(known=False, answer="No idea.")) as model:
        both = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-llm", PluginKind.GOAL_SOLVER: "gs-llm"})
        await talk_with(model.url).say("Pourquoi?", both)

    assert [asked.body["messages"][0]["content"] for asked in model.asked] == [prompts.DETECT, prompts.SOLVE]


@pytest.mark.parametrize("answer", [Answer(status=401, body=KEY.encode()), Answer(status=500, body=KEY.encode())])
async def test_a_key_is_never_told(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    async with a_model(answer) as model:
        talk = talk_with(model.url)
        talk.preferred = Preferences(plugins={PluginKind.SEED_DETECTOR: "sd-llm", PluginKind.GOAL_SOLVER: "gs-llm"})
        with caplog.at_level(logging.DEBUG):
            told = await talk.say("What is the port?")
        with pytest.raises(ModelFailed) as failed:
            await client(model.url, retries=0).complete(HELLO, deadline=soon())

    everything = f"{told.graph}{told.document}{told.text}{told.notes.warnings}{failed.value}{client(model.url)!r}"
    assert KEY not in everything + caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "model_not_allowed" in everything or "model_broken" in everything
