"""Who takes what nobody understood."""

from typing import Any

import pytest

from tests.unit.bus.asking import Bus, an_utterance, no, yes
from turnkeeper.bus.message import Message
from turnkeeper.bus.pipeline import fallback
from turnkeeper.bus.pipeline.fallback import FallbackSkills, Tier, fallbacks
from turnkeeper.bus.plugins import Match, Utterance


def registered(**priorities: Any) -> FallbackSkills:
    skills = FallbackSkills()
    for skill_id, priority in priorities.items():
        skills.heard(Message(type="ovos.fallback.register", data={"skill_id": skill_id, "priority": priority}))
    return skills


async def matched(
    skills: FallbackSkills, tier: Tier, *answers: dict[str, Any], session: dict[str, Any] | None = None
) -> Match | None:
    stage = next(each for each in fallbacks(skills) if each.pipeline_id == tier)
    return await stage.match(an_utterance("hm?", session=session, poll=Bus(answers=answers)))


async def test_each_stage_asks_the_skills_of_its_priorities() -> None:
    skills = registered(first=0, special=50, edge=5, last=90, beyond=101)

    assert skills.of(Tier.HIGH, {}) == ["first"]
    assert skills.of(Tier.MEDIUM, {}) == ["edge", "special"]
    assert skills.of(Tier.LOW, {}) == ["last", "beyond"]


async def test_the_lowest_priority_that_would_take_it_has_it() -> None:
    skills = registered(b=20, a=10, c=30)

    match = await matched(skills, Tier.MEDIUM, yes("c"), yes("b"), no("a"))

    assert match is not None
    assert match.topic == "b:fallback"
    assert match.updated_session is None


async def test_a_session_may_prefer_others_and_rule_some_out() -> None:
    skills = registered(b=20, a=10, c=30)

    session = {"fallback_handlers": ["c", "gone", "a"], "blacklisted_skills": ["a"]}

    assert skills.of(Tier.MEDIUM, session) == ["c", "b"]


async def test_nobody_is_asked_where_nobody_is_there_and_nobody_answers_for_others() -> None:
    assert await matched(registered(), Tier.LOW, yes("a")) is None
    assert await matched(registered(a=95), Tier.LOW, yes("stranger"), no("a")) is None


def test_who_takes_back_the_offer_is_not_asked() -> None:
    skills = registered(a=10)

    skills.heard(Message(type="ovos.fallback.deregister", data={"skill_id": "a"}))
    skills.heard(Message(type="ovos.fallback.deregister", data={"skill_id": ["never there"]}))

    assert skills.of(Tier.MEDIUM, {}) == []


@pytest.mark.parametrize("skill_id", [None, "", "a:b", 5, ["a"], "x" * 300])
@pytest.mark.parametrize("priority", [10, "10", True, None])
def test_an_offer_that_makes_no_sense_is_not_taken(skill_id: Any, priority: Any) -> None:
    skills = FallbackSkills()

    skills.heard(Message(type="ovos.fallback.register", data={"skill_id": skill_id, "priority": priority}))

    assert [skills.of(tier, {}) for tier in Tier] == [[], [], []]


def test_there_is_an_end_to_how_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "MOST_SKILLS", 2)

    skills = registered(a=10, b=10, c=10, a2=10)
    skills.heard(Message(type="ovos.fallback.register", data={"skill_id": "a", "priority": 99}))

    assert skills.of(Tier.MEDIUM, {}) == ["b"]
    assert skills.of(Tier.LOW, {}) == ["a"]


async def test_a_skill_of_this_process_is_asked_here_and_nobody_else_takes_it_away() -> None:
    async def willing(utterance: Utterance) -> bool:
        return True

    skills = FallbackSkills()
    skills.add("mine", 95, willing)
    skills.heard(Message(type="ovos.fallback.deregister", data={"skill_id": "mine"}))

    match = await matched(skills, Tier.LOW)

    assert match is not None
    assert match.topic == "mine:fallback"
    with pytest.raises(ValueError, match="cannot be a fallback"):
        skills.add("a:b")
