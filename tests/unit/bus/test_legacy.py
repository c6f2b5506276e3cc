"""What clients from before the specifications say, and what they are told."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ovos_spec_tools.messages import MIGRATION_MAP  # type: ignore[import-untyped]

from tests.scale import rounds
from tests.unit.bus.carriers import JSON, SESSIONS
from turnkeeper.bus import carrier, recency
from turnkeeper.bus.legacy import copies, topics
from turnkeeper.bus.legacy.adapter import LegacyWire
from turnkeeper.bus.legacy.sessions import ENTRY, KEPT, STATE, WHOLE
from turnkeeper.bus.message import Message, decoded
from turnkeeper.bus.rules import STAGES

NOW = 1000.0
WIRE = LegacyWire(clock=lambda: NOW)
SPOKEN = ("ovos.utterance.handle", "ovos.utterance.speak", "ovos.stop", "lamp.skill:stop", "lamp.skill:dim", "a.b")

OLD: dict[str, Any] = {
    "active_skills": [],
    "utterance_states": {},
    "session_id": "kiosk-9",
    "persona_id": None,
    "lang": "en",
    "context": {"timeout": 120, "frame_stack": []},
    "site_id": "unknown",
    "pipeline": ["ovos-stop-pipeline-plugin-high", "ovos-fallback-pipeline-plugin-low"],
    "location": {
        "city": {"code": "Porto"},
        "coordinate": {"latitude": 41.1, "longitude": -8.6},
        "timezone": {"code": "Europe/Lisbon", "offset": 0},
    },
    "system_unit": "metric",
    "time_format": "full",
    "date_format": "DMY",
    "is_speaking": False,
    "is_recording": False,
    "blacklisted_skills": [],
    "blacklisted_intents": [],
}
"""As the stable client sends it."""


def heard(session: dict[str, Any]) -> dict[str, Any]:
    message = WIRE.inbound(Message(type="recognizer_loop:utterance", context={"session": session}))
    assert message is not None
    assert isinstance(message.session, dict)
    return message.session


def told(session: dict[str, Any]) -> dict[str, Any]:
    return dict(WIRE.outbound(Message(type="ovos.utterance.handled", context={"session": session}))[0].session)


def returned(session: dict[str, Any]) -> dict[str, Any]:
    """What the stable client sends after it was told this; measured: all the rest is lost, and regions too."""
    back = {name: copy.deepcopy(session[name]) for name in OLD if name in session}
    return {**OLD, **back, "lang": str(session.get("lang", "en")).split("-")[0], "persona_id": None}


def returned_by_newer(session: dict[str, Any]) -> dict[str, Any]:
    """What the newest client sends after it was told this and made an object of it; measured."""
    back = {name: copy.deepcopy(value) for name, value in session.items() if name in (*carrier.FIELDS, *OLD)}
    frames = [
        [{"entities": [{"key": entry.get("value"), "origin": key}], "metadata": {}}, NOW]
        for key, entry in back.get("intent_context", {}).items()
    ]
    return {**back, "context": {"timeout": 120, "frame_stack": frames}}


# --- topics


@pytest.mark.parametrize("name", sorted(set(MIGRATION_MAP) & set(topics.RENAMED)))
def test_an_old_name_is_understood_as_the_reference_understands_it(name: str) -> None:
    message = WIRE.inbound(Message(type=name))

    assert message is not None
    assert message.type == MIGRATION_MAP[name].value


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("skill.converse.pong", "ovos.converse.pong"),
        ("recognizer_loop:speech.recognition.unknown", "ovos.stt.failed"),
        ("food.skill:order.intent", "food.skill:order"),
        ("food.skill:order", "food.skill:order"),
        ("food.skill:.intent", "food.skill:.intent"),
        ("padatious:register.intent", "padatious:register.intent"),
        ("mycroft.skill.handler.complete", "mycroft.skill.handler.complete"),
        ("ovos.session.sync", "ovos.session.sync"),
    ],
)
def test_names_that_are_no_renaming_are_understood_too(name: str, now: str) -> None:
    message = WIRE.inbound(Message(type=name))

    assert message is not None
    assert message.type == now


@pytest.mark.parametrize(
    ("mark", "name", "old"),
    [
        ("_namespace_compat_twin", "ovos.utterance.handle", "recognizer_loop:utterance"),
        ("_namespace_compat_twin", "ovos.utterance.speak", "speak"),
        ("_intent_compat_twin", "food.skill:order", "food.skill:order.intent"),
    ],
)
def test_a_copy_under_another_name_is_not_heard_after_its_original(mark: str, name: str, old: str) -> None:
    wire = LegacyWire()
    session = {"session_id": "kiosk-9"}
    original = Message(type=name, data={"x": 1}, context={"session": session})
    # A copy may come late, and the session may be another by then.
    copied = Message(type=old, data={"x": 1}, context={"session": {**session, "lang": "nl"}, mark: True})
    of_another = Message(type=old, data={"x": 1}, context={"session": {"session_id": "other"}, mark: True})

    assert [wire.inbound(each) for each in (original, original)] == [original, original]
    assert wire.inbound(of_another) is not None
    assert [wire.inbound(copied), wire.inbound(copied)] == [None, None]
    assert wire.inbound(copied) is not None


def test_who_replies_to_a_copy_and_sends_its_mark_along_is_heard() -> None:
    marked = {"_namespace_compat_twin": True, "_intent_compat_twin": True, "source": "sat-3"}
    ours = Message(type="ovos.fallback.ping", context={"source": "sat-3"})
    wire = LegacyWire()

    copies = [wire.inbound(each) for each in wire.outbound(ours)]
    pong = wire.inbound(Message(type="ovos.skills.fallback.pong", data={"can_handle": True}, context=marked))
    done = wire.inbound(Message(type="mycroft.skill.handler.complete", context=marked))

    assert copies == [ours, None]
    assert pong == Message(type="ovos.fallback.pong", data={"can_handle": True}, context={"source": "sat-3"})
    assert done == Message(type="mycroft.skill.handler.complete", context={"source": "sat-3"})


def test_originals_are_remembered_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_ORIGINALS", 2)
    wire = LegacyWire()
    originals = [Message(type="ovos.utterance.speak", data={"utterance": str(number)}) for number in range(3)]

    heard = [wire.inbound(each) for each in originals]
    again = [wire.inbound(wire.outbound(each)[1]) for each in originals]

    assert heard == originals
    assert again == [originals[0], None, None]


def test_what_is_told_goes_out_first_as_it_is_and_then_as_a_marked_copy() -> None:
    message = Message(type="ovos.utterance.speak", data={"utterance": "hi"}, context={"source": "sat-3"})

    first, second = WIRE.outbound(message)

    assert first == message
    assert second == Message(
        type="speak", data={"utterance": "hi"}, context={"source": "sat-3", "_namespace_compat_twin": True}
    )
    assert decoded(second.encoded()) == second


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("ovos.intent.unmatched", ["complete_intent_failure"]),
        ("lamp.skill:stop", ["lamp.skill.stop"]),
        ("ovos.fallback.ping", ["ovos.skills.fallback.ping"]),
        ("lamp.skill:dim", []),
        ("ovos.utterance.handled", []),
        ("ovos.intent.handler.complete", []),
        ("ovos.converse.ping", []),
    ],
)
def test_only_what_had_another_name_is_told_twice(name: str, names: list[str]) -> None:
    assert [each.type for each in WIRE.outbound(Message(type=name))] == [name, *names]


def test_who_expects_an_answer_listens_for_it() -> None:
    asked = WIRE.inbound(Message(type="speak", data={"utterance": "which?", "expect_response": True}))
    torn = WIRE.inbound(Message(type="speak", data={"listen": False, "expect_response": True}))
    said = WIRE.outbound(Message(type="ovos.utterance.speak", data={"utterance": "which?", "listen": True}))

    assert asked is not None
    assert asked.data == {"utterance": "which?", "listen": True}
    assert torn is not None
    assert torn.data == {"listen": False, "expect_response": True}
    assert [each.data for each in said] == [{"utterance": "which?", "listen": True, "expect_response": True}] * 2


def test_an_intent_is_taken_back_by_its_old_name() -> None:
    one = WIRE.inbound(Message(type="detach_intent", data={"intent_name": "lamp.skill:dim"}))
    other = WIRE.inbound(
        Message(type="mycroft.skill.disable_intent", data={"intent_name": "dim"}, context={"skill_id": "lamp.skill"})
    )

    assert one is not None
    assert other is not None
    assert one.data == other.data == {"skill_id": "lamp.skill", "intent_name": "dim"}


# --- pipelines

STABLE = [
    "ovos-stop-pipeline-plugin-high",
    "ovos-converse-pipeline-plugin",
    "ovos-ocp-pipeline-plugin-high",
    "ovos-padatious-pipeline-plugin-high",
    "ovos-adapt-pipeline-plugin-high",
    "ovos-m2v-pipeline-high",
    "ovos-ocp-pipeline-plugin-medium",
    "ovos-fallback-pipeline-plugin-high",
    "ovos-stop-pipeline-plugin-medium",
    "ovos-adapt-pipeline-plugin-medium",
    "ovos-fallback-pipeline-plugin-medium",
    "ovos-fallback-pipeline-plugin-low",
]
OLDER = "stop_high converse padatious_high adapt_high common_qa fallback_high adapt_low fallback_medium fallback_low"


@pytest.mark.parametrize("pipeline", [STABLE, OLDER.split()])
def test_the_pipeline_of_an_old_client_reaches_every_stage_and_ends_with_the_agents(pipeline: list[str]) -> None:
    stages = dict.fromkeys(stage for entry in pipeline for stage in WIRE.stages(entry))

    assert tuple(stages) == STAGES


def test_an_entry_that_nobody_knows_stands_for_itself() -> None:
    assert WIRE.stages("my-own") == ("my-own",)


# --- sessions


def test_a_session_of_the_stable_client_reads_as_what_it_means() -> None:
    session = heard(OLD)

    assert "persona_id" not in session
    assert session["site_id"] == "unknown"
    place = carrier.fields_of(session)["location"]
    assert (place["lat"], place["lon"], place["tz"]) == (41.1, -8.6, "Europe/Lisbon")
    assert not {"active_handlers", "converse_handlers", "response_mode", "intent_context"} & set(session)


def test_of_the_default_session_only_what_a_client_knows_is_heard() -> None:
    stale = {
        **OLD,
        "session_id": "default",
        "active_skills": [["lamp.skill", 5]],
        "utterance_states": {"a": "response"},
    }

    session = heard(told(stale))

    assert "site_id" not in session
    assert not {"active_handlers", "converse_handlers", "response_mode"} & set(session)


def test_an_old_session_alone_says_who_was_active_and_who_waits() -> None:
    session = heard(
        {
            **OLD,
            "active_skills": [["lamp.skill", 20.5], ["music.skill", 10], ["lamp.skill", 5], ["odd"], "odd", [5, 5]],
            "utterance_states": {"gone": "response", "music.skill": "response", "lamp.skill": "intent"},
        }
    )

    handlers = [
        {"skill_id": "lamp.skill", "activated_at": 20.5},
        {"skill_id": "music.skill", "activated_at": 10},
    ]
    assert session["active_handlers"] == session["converse_handlers"] == handlers
    assert session["response_mode"] == {"skill_id": "music.skill", "expires_at": NOW + 60}
    assert recency.holder(session, NOW) == "music.skill"


@given(session=SESSIONS)
@settings(max_examples=rounds(50, 1000))
def test_nothing_gets_lost_with_a_client_that_returns_only_a_part(session: dict[str, Any]) -> None:
    canonical = {**carrier.fields_of({**session, "lang": "pt-PT"}), "session_id": "kiosk-9", "turnkeeper": {"v": 1}}
    brought = {**heard(OLD), **canonical}

    sent = told(brought)

    for back in (heard(returned(sent)), heard(returned_by_newer(sent)), heard(sent)):
        assert {name: back.get(name) for name in canonical} == canonical
        assert back.get("intent_context", {}) == canonical.get("intent_context", {})
        assert len(told(back)["context"]["frame_stack"]) <= 1 + len(canonical.get("intent_context", {}))


def test_what_a_client_says_itself_goes_before_what_was_kept_for_it() -> None:
    kept = told({**heard(OLD), "intent_context": {"room": {"value": "attic"}}, "fallback_handlers": ["a"]})

    session = heard({**returned(kept), "intent_context": {"room": {"value": "hall"}}, "fallback_handlers": None})

    assert session["intent_context"] == {"room": {"value": "hall"}}
    assert session["fallback_handlers"] == ["a"]


def test_old_fields_follow_from_the_new_ones_and_strange_frames_are_let_be() -> None:
    frame = [{"entities": [{"key": "Room"}], "metadata": {"x": 1}}, 5]
    session = {
        **OLD,
        "context": {"timeout": 30, "frame_stack": [frame, "odd", [1, 2]]},
        "active_skills": [["stale", 1]],
        "active_handlers": [{"skill_id": "lamp.skill", "activated_at": 7}],
        "response_mode": {"skill_id": "lamp.skill", "expires_at": 9},
    }

    once = told(session)

    assert once["active_skills"] == [["lamp.skill", 7]]
    assert once["utterance_states"] == {"lamp.skill": "response"}
    assert once["context"]["timeout"] == 30
    kept, other = once["context"]["frame_stack"]
    assert set(kept[0]["metadata"][KEPT]) == {"active_handlers", "response_mode", "lang"}
    assert "intent_context" not in once
    assert other == frame
    assert told(once) == once


def test_what_somebody_takes_out_who_loses_nothing_stays_out() -> None:
    waiting = {"skill_id": "lamp.skill", "expires_at": NOW + 60}
    handlers = [{"skill_id": "lamp.skill", "activated_at": 7}]
    sent = told(
        {
            **OLD,
            "response_mode": waiting,
            "active_handlers": handlers,
            "converse_handlers": handlers,
            "intent_context": {"room": {"value": "attic"}},
            "x_vendor": 7,
        }
    )

    gone = ("response_mode", "active_handlers", "intent_context", "x_vendor")
    session = heard({name: value for name, value in sent.items() if name not in gone})

    assert not set(gone) & set(session)
    assert session["converse_handlers"] == handlers
    assert WHOLE not in heard(sent)


@pytest.mark.parametrize(
    "value",
    ["{", "[]", "5", '{"n": NaN}', None, 5, '{"lang": "xx", "context": 5}', pytest.param("[" * 100_000, id="deep")],
)
def test_what_somebody_else_wrote_where_we_keep_things_is_left_out(value: Any) -> None:
    session = heard({**OLD, "intent_context": {ENTRY: {"value": value}, "room": {"value": "attic"}}})

    assert session["intent_context"] == {"room": {"value": "attic"}}
    assert (session["lang"], session["context"]) == (OLD["lang"], OLD["context"])


def test_a_session_without_old_fields_is_left_alone() -> None:
    session = {"session_id": "kiosk-9", "site_id": "unknown", "context": "mine", "active_handlers": []}

    assert told(session) == heard(session) == session


@pytest.mark.parametrize("session", [None, "default", 5, [], True])
def test_what_would_cut_off_an_old_client_is_never_told(session: Any) -> None:
    told = WIRE.outbound(Message(type="a.b", context={"session": session, "source": "x"}))

    assert [each.context for each in told] == [{"source": "x"}]


def test_the_whole_default_session_is_told_without_null_and_without_what_is_kept_for_others() -> None:
    session = {
        "lang": None,
        "active_skills": None,
        "utterance_states": {},
        "intent_context": {"room": {"value": "hall"}},
    }

    (first,) = WIRE.outbound(Message(type="ovos.session.update_default", data={"session_data": session}))

    assert None not in first.data["session_data"].values()
    assert first.data["session_data"]["active_skills"] == []
    assert KEPT not in str(first.data)


# --- anything at all


@given(
    type=st.sampled_from(SPOKEN),
    data=st.dictionaries(st.sampled_from(("utterance", "listen", "x")), JSON, max_size=3),
    session=SESSIONS,
)
@settings(max_examples=rounds(50, 1000))
def test_what_follows_the_specifications_comes_in_as_it_went_out(
    type: str, data: dict[str, Any], session: dict[str, Any]
) -> None:
    message = Message(type=type, data=data, context={"session": session, "source": "sat-3"})
    as_it_was = copy.deepcopy(message)

    first, *others = WIRE.outbound(message)

    assert WIRE.inbound(first) == message == as_it_was
    # `lamp.skill.stop` is a name that nobody here goes by.
    assert [WIRE.inbound(each) for each in others if each.type != "lamp.skill.stop"] in ([], [None])


@given(
    type=st.sampled_from((*topics.RENAMED, *SPOKEN, "ovos.session.update_default")),
    data=st.dictionaries(st.sampled_from(("intent_name", "listen", "expect_response", "session_data")), JSON),
    context=st.dictionaries(st.sampled_from(("skill_id", "source")), JSON),
    session=JSON | st.dictionaries(st.sampled_from((*OLD, *STATE, "session_id")), JSON),
    frames=st.lists(JSON | st.tuples(st.dictionaries(st.sampled_from(("entities", "metadata")), JSON), JSON)),
)
@settings(max_examples=rounds(50, 2000))
def test_whatever_comes_nothing_breaks_and_nothing_is_null(
    type: str, data: dict[str, Any], context: dict[str, Any], session: Any, frames: list[Any]
) -> None:
    if isinstance(session, dict) and "context" in session:
        session = {**session, "context": {"frame_stack": [list(f) if isinstance(f, tuple) else f for f in frames]}}
    message = Message(type=type, data=data, context={**context, "session": session})

    came = WIRE.inbound(message)
    assert came is not None
    for each in WIRE.outbound(came):
        assert decoded(each.encoded()) == each
        assert "session" not in each.context or (isinstance(each.session, dict) and None not in each.session.values())
