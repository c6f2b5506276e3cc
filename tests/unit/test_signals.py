"""What makes a turn resolve its intent anew, and what makes it begin from nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.scale import rounds
from turnkeeper.intent.signals import ForceSignal, ResetTrigger, Signal, force_signal, reset_trigger
from turnkeeper.model.control import FORCE_PARAMS
from turnkeeper.model.dialogue import Clarification

OPEN_QUESTION = Clarification(question="Did you mean booking or billing?", reason="collision", turn=1)
PIECES = ["switch", "change", "to", "mode", "flow", "intent", "of", "my", "the", "s", "ü", " ", "\n", "-", ".", "?"]


@pytest.mark.parametrize(
    ("text", "forces"),
    [
        ("Switch To Billing", True),
        ("switch to", False),
        ("I want to change mode of payment", False),  # the original says yes: it does not look at what follows
        ("please switch to billing", True),  # the original says no: it looks only at the start
        ("switch intents now", False),  # the original says yes: "switch intent" is a part of it, and another word
        ("switch flow", True),  # the original says no: the page names flow and mode only after "change"
        ("switch mode", True),  # the original says no, as above
        ("change my intent", True),  # the original says no: it knows no word between the two
    ],
)
def test_the_measured_examples_of_the_original_have_our_verdict(text: str, forces: bool) -> None:
    assert (force_signal(text, {}, None) is not None) == forces


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("switch to billing", "switch to"),
        ("Could you\n switch  to the other booking?", "switch to"),
        ("switch intent", "switch intent"),
        ("change intent", "change intent"),
        ("change flow", "change flow"),
        ("change mode", "change mode"),
        ("CHANGE THE FLOW, please", "change flow"),
        ("let's change mode.", "change mode"),
        ("Change mode offline", "change mode"),
    ],
)
def test_force_re_resolution_signals_a_switch_phrase_is_found_wherever_it_stands(text: str, value: str) -> None:
    assert force_signal(text, {}, None) == ForceSignal(signal=Signal.SWITCH_PHRASE, value=value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "switch",
        "switch to ",
        "switch to?",
        "switching to billing",
        "a light-switch to buy",
        "the switch is broken",
        "switch today",
        "exchange mode",
        "change modem",
        "change flows",
        "change mode-of-payment",
        "change the mode of transport",
        "switch mode  of delivery",
        "I changed my mind",
        "the intent is to change",
    ],
)
def test_words_that_only_look_like_a_switch_phrase_force_nothing(text: str) -> None:
    assert force_signal(text, {}, None) is None


@pytest.mark.parametrize("text", ["reset", "restart", "/reset", "/restart", "  RESET\n"])
def test_force_re_resolution_signals_a_reset_command_is_the_whole_message(text: str) -> None:
    assert force_signal(text, {}, None) == ForceSignal(signal=Signal.RESET_COMMAND, value=text.strip().lower())


@pytest.mark.parametrize("text", ["reset.", "reset please", "start over", "/ reset", "resets"])
def test_a_reset_command_with_anything_beside_it_is_none(text: str) -> None:
    assert force_signal(text, {}, None) is None
    assert reset_trigger(False, {}, text) is None


@pytest.mark.parametrize("name", FORCE_PARAMS)
@pytest.mark.parametrize("value", [True, 1, "true", " Yes ", "on", "1"])
def test_force_re_resolution_signals_each_of_the_five_params_forces(name: str, value: object) -> None:
    assert force_signal("hello", {name: value}, None) == ForceSignal(signal=Signal.PARAM, value=name)


@pytest.mark.parametrize("value", [False, 0, None, "false", "off", "perhaps", 2, 1.9, [True], {}])
def test_a_force_param_that_does_not_say_yes_forces_nothing(value: object) -> None:
    assert force_signal("hello", dict.fromkeys(FORCE_PARAMS, value), None) is None


def test_a_param_of_another_name_forces_nothing() -> None:
    assert force_signal("hello", {"Switch_Intent": True, "force": True}, None) is None


def test_force_re_resolution_signals_an_open_clarification_forces() -> None:
    assert force_signal("the second one", {}, OPEN_QUESTION) == ForceSignal(
        signal=Signal.CLARIFICATION, value="collision"
    )


def test_the_first_signal_in_order_is_the_one_that_is_told() -> None:
    params = {"switch_mode": True, "resolve_intent": True}

    told = [
        force_signal("reset", params, OPEN_QUESTION),
        force_signal("reset", params, None),
        force_signal("switch to billing", params, None),
        force_signal("switch to billing", {}, None),
    ]

    assert [(each.signal, each.value) for each in told if each] == [
        (Signal.CLARIFICATION, "collision"),
        (Signal.RESET_COMMAND, "reset"),
        (Signal.PARAM, "resolve_intent"),
        (Signal.SWITCH_PHRASE, "switch to"),
    ]


@pytest.mark.parametrize(
    ("flag", "params", "text", "trigger"),
    [
        (True, {}, "hello", "FLAG"),
        (True, {"restart": True}, "reset", "FLAG"),
        (False, {"reset": True}, "hello", "INPUT_PARAM:reset"),
        (False, {"restart": "on"}, "hello", "INPUT_PARAM:restart"),
        (False, {"conversation_reset": 1}, "/reset", "INPUT_PARAM:conversation_reset"),
        (False, {"conversation_reset": True, "restart": True}, "", "INPUT_PARAM:restart"),
        (False, {"restart": True, "reset": "no"}, "", "INPUT_PARAM:restart"),
        (False, {"reset": False}, " /Restart ", "USER_TEXT_COMMAND"),
        (False, {"Reset": True, "switch_intent": True}, "I want to reset", None),
    ],
)
def test_reset_triggers_the_flag_is_told_before_params_and_params_before_words(
    flag: bool, params: dict[str, Any], text: str, trigger: str | None
) -> None:
    assert reset_trigger(flag, params, text) == (ResetTrigger(trigger) if trigger else None)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text())
@example("switch " * 50 + "to")
def test_any_text_is_read_and_what_is_told_holds_no_word_beyond_the_phrase(text: str) -> None:
    phrases = {"switch to", *(f"{verb} {noun}" for verb in ("switch", "change") for noun in ("intent", "flow", "mode"))}

    found = force_signal(text, {}, None)

    assert found is None or found.signal is Signal.RESET_COMMAND or found.value in phrases


@given(before=st.text("ab ,.", max_size=20), after=st.text("ab ,.", max_size=20))
def test_a_phrase_counts_exactly_where_its_words_stand_alone(before: str, after: str) -> None:
    stands_alone = not (before[-1:].isalnum() or after[:1].isalnum())

    assert (force_signal(f"{before}change flow{after}", {}, None) is not None) == stands_alone


def test_a_long_message_is_read_in_no_time() -> None:
    text = "switch " * rounds(20_000, 200_000) + "change the " * rounds(20_000, 200_000)

    assert force_signal(text, {}, None) is None
