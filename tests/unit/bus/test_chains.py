"""Which transformers run, in which order, and what becomes of what they give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from turnkeeper.bus.chains import Chains
from turnkeeper.bus.plugins import Match
from turnkeeper.bus.transformers import Chained, Hook, Transformed

CONTEXT = {"session": {"session_id": "s"}, "utterance_id": "u1"}
Change = Callable[[Any, dict[str, Any], str | None], Any]


@dataclass(frozen=True, kw_only=True)
class Changing:
    """Gives what its `change` makes of it."""

    id: str
    change: Change
    hook: Hook = Hook.UTTERANCE
    priority: int = 50

    async def transform(self, artifact: Any, context: dict[str, Any], lang: str | None) -> Transformed:
        made = self.change(artifact, context, lang)
        assert isinstance(made, Transformed) or made is None or isinstance(made, tuple)
        return made  # type: ignore[return-value]


def saying(word: str) -> Change:
    return lambda artifact, context, _: Transformed(artifact=[f"{artifact[0]} {word}"], context=context)


def giving(artifact: Any, **context: Any) -> Change:
    return lambda _, given, __: Transformed(artifact=artifact, context={**given, **context})


async def run(chains: Chains, session: Mapping[str, Any] | None = None, *, hook: Hook = Hook.UTTERANCE) -> Chained:
    return await chains.composed(session or {}).run(hook, ["hello"], CONTEXT)


THREE = (
    Changing(id="late", change=saying("late"), priority=90),
    Changing(id="b", change=saying("b")),
    Changing(id="a", change=saying("a")),
    Changing(id="early", change=saying("early"), priority=1),
)


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ({}, "hello early a b late"),
        ({"utterance_transformers": ["late", "a"]}, "hello late a"),
        ({"utterance_transformers": ["late", "gone"]}, "hello late"),
        ({"utterance_transformers": ["gone"]}, "hello"),
        ({"blacklisted_utterance_transformers": ["a", "early"]}, "hello b late"),
        ({"utterance_transformers": ["late", "a"], "blacklisted_utterance_transformers": ["late"]}, "hello a"),
        ({"utterance_transformers": ["a"], "blacklisted_utterance_transformers": ["a"]}, "hello"),
        ({"metadata_transformers": ["a"]}, "hello early a b late"),
    ],
)
async def test_a_chain_is_what_is_preferred_and_there_and_not_ruled_out(session: dict[str, Any], said: str) -> None:
    chained = await run(Chains(THREE), session)

    assert chained.artifact == [said]
    assert list(chained.touched_by) == said.split()[1:]
    assert chained.context.get("utterance_transformer_ids", []) == said.split()[1:]


async def test_a_chain_stays_as_it_was_composed_when_the_session_changes_meanwhile() -> None:
    def prefers_another(artifact: Any, context: dict[str, Any], lang: str | None) -> Transformed:
        context["session"]["metadata_transformers"] = ["other"]
        return Transformed(artifact=artifact, context=context)

    one = Changing(id="one", change=prefers_another)
    other = Changing(id="other", change=lambda a, c, _: Transformed(artifact=a, context=c), hook=Hook.METADATA)
    composed = Chains([one, other]).composed({"metadata_transformers": ["nothing"]})

    first = await composed.run(Hook.UTTERANCE, ["hello"], CONTEXT)
    second = await composed.run(Hook.METADATA, None, first.context)

    assert first.context["session"]["metadata_transformers"] == ["other"]
    assert second.touched_by == ()


def boom(artifact: Any, context: dict[str, Any], lang: str | None) -> Transformed:
    artifact.append("half done")
    context["session"]["lang"] = "half done"
    raise RuntimeError("boom")


ODD: list[tuple[Hook, Any, Change]] = [
    (Hook.UTTERANCE, ["hello"], boom),
    (Hook.UTTERANCE, ["hello"], lambda a, c, _: None),
    (Hook.UTTERANCE, ["hello"], lambda a, c, _: (a, c)),
    (Hook.UTTERANCE, ["hello"], giving("hello")),
    (Hook.UTTERANCE, ["hello"], giving([5])),
    (Hook.UTTERANCE, ["hello"], giving(["x"], session="other")),
    (Hook.UTTERANCE, ["hello"], giving(["x"], session={"session_id": "other"})),
    (Hook.UTTERANCE, ["hello"], giving(["x"], utterance_id="other")),
    (Hook.UTTERANCE, ["hello"], giving(["x"], mine=object())),
    (Hook.UTTERANCE, ["hello"], giving(["x"], mine=float("nan"))),
    (Hook.UTTERANCE, ["hello"], giving(["x"], canceled=True)),
    (Hook.UTTERANCE, ["hello"], giving(["x"], cancel_reason="other")),
    (Hook.UTTERANCE, ["hello"], giving(["x"], canceled=True, cancel_reason=5)),
    (Hook.UTTERANCE, ["hello"], giving(["x"], canceled="yes", cancel_reason="other")),
    (Hook.UTTERANCE, ["hello"], lambda a, c, _: Transformed(artifact=["x"], context=c, lang="")),
    (Hook.METADATA, None, giving("something")),
    (Hook.AUDIO, b"la", giving("la")),
    (Hook.DIALOG, "la", giving(5)),
    (Hook.TTS, b"la", giving(None)),
]


@pytest.mark.parametrize(("hook", "artifact", "change"), ODD)
async def test_what_fails_or_has_the_wrong_shape_has_changed_nothing(hook: Hook, artifact: Any, change: Change) -> None:
    chains = Chains([Changing(id="odd", change=change, hook=hook)])

    chained = await chains.composed({}).run(hook, artifact, CONTEXT, "nl")

    assert chained == Chained(artifact=artifact, context=CONTEXT, lang="nl")


async def test_calling_off_ends_the_chain_and_says_who_did_it() -> None:
    off = Changing(id="off", change=giving(["hello"], canceled=True, cancel_reason="stop_word"), priority=40)

    chained = await run(Chains([*THREE, off]))

    assert chained.cancelled_by == chained.context["cancel_by"] == "off"
    assert chained.context["cancel_reason"] == "stop_word"
    assert chained.touched_by == ("early", "off")


async def test_words_that_are_all_gone_are_not_called_off() -> None:
    chained = await run(Chains([Changing(id="none", change=giving([]))]))

    assert chained.artifact == []
    assert chained.cancelled_by is None


MATCH = Match(skill_id="lamp", intent_name="dim", lang="nl", utterance="dim it")


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (replace(MATCH, slots={"room": "attic"}), True),
        (replace(MATCH, skill_id="other"), False),
        (replace(MATCH, intent_name="other"), False),
        (replace(MATCH, utterance=""), False),
        ("a match", False),
    ],
)
async def test_a_match_may_gain_slots_and_stays_the_same_intent(made: Any, kept: bool) -> None:
    chains = Chains([Changing(id="t", change=giving(made), hook=Hook.INTENT)])

    chained = await chains.composed({}).run(Hook.INTENT, MATCH, CONTEXT)

    assert chained.artifact == (made if kept else MATCH)


async def test_the_last_language_that_is_named_is_the_one_it_is_in() -> None:
    translating = Changing(id="t", change=lambda a, c, _: Transformed(artifact=a, context=c, lang="nl"), priority=1)

    chained = await run(Chains([translating, *THREE]))

    assert chained.lang == "nl"


def test_who_asks_is_told_what_there_is() -> None:
    assert Chains(THREE).listing(Hook.UTTERANCE) == {
        "loaded": ["early", "a", "b", "late"],
        "priorities": {"early": 1, "a": 50, "b": 50, "late": 90},
    }
    assert Chains(THREE).listing(Hook.TTS) == {"loaded": [], "priorities": {}}


def test_an_id_stands_once_at_a_hook() -> None:
    with pytest.raises(ValueError, match="already"):
        Chains([THREE[0], THREE[0]])
