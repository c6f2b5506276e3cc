"""Asking skills whether they would take an utterance, until nothing that is still missing could change who does."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.bus.message import Message
from turnkeeper.bus.plugins import Claim, Utterance

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked under which topic, and for how long answers count."""

    topic: str
    answers: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    can_handle: bool
    error_code: str | None = None


async def asked(
    question: Question, utterance: Utterance, order: Sequence[str], here: Mapping[str, Claim]
) -> dict[str, Answer]:
    """What these skills say, the first one mattering most; whoever says nothing is not among the answers.

    Those that are `here` in this process are asked directly. The others are asked over the bus, all at once, unless
    one that matters more has said yes.
    """
    said = await _asked_here(question, utterance, [skill for skill in order if skill in here], here)
    if not _is_settled(order, said):
        heard = await utterance.poll(
            question.topic,
            {"utterances": list(utterance.candidates), "lang": utterance.lang},
            answers=question.answers,
            seconds=question.seconds,
            is_enough=lambda messages: _is_settled(order, _answers(order, messages, said)),
        )
        said = _answers(order, heard, said)
    return said


def first_claim(order: Sequence[str], said: Mapping[str, Answer]) -> str | None:
    """The first in order that would take it, whoever answered sooner."""
    return next((skill for skill in order if skill in said and said[skill].can_handle), None)


async def _asked_here(
    question: Question, utterance: Utterance, skills: Sequence[str], here: Mapping[str, Claim]
) -> dict[str, Answer]:
    async def ask(skill: str) -> Answer:
        try:
            async with asyncio.timeout(question.seconds):
                return Answer(can_handle=await here[skill](utterance) is True)
        except Exception:
            log.warning("skill could not say whether it would", exc_info=True, extra={"skill_id": skill})
            return Answer(can_handle=False)

    async with asyncio.TaskGroup() as group:
        asking = {skill: group.create_task(ask(skill)) for skill in skills}
    return {skill: task.result() for skill, task in asking.items()}


def _answers(order: Sequence[str], messages: Sequence[Message], said: Mapping[str, Answer]) -> dict[str, Answer]:
    """The first sound answer of each that was asked; others have no say."""
    found = dict(said)
    for message in messages:
        answer = _answer(message.data)
        skill = message.data.get("skill_id")
        if answer is not None and isinstance(skill, str) and skill in order:
            found.setdefault(skill, answer)
    return found


def _answer(data: Mapping[str, Any]) -> Answer | None:
    can_handle, code = data.get("can_handle"), data.get("error_code")
    if not isinstance(can_handle, bool):
        return None
    return Answer(can_handle=can_handle, error_code=code if isinstance(code, str) else None)


def _is_settled(order: Sequence[str], said: Mapping[str, Answer]) -> bool:
    """Whether everybody has answered who matters more than the first yes."""
    for skill in order:
        if skill not in said:
            return False
        if said[skill].can_handle:
            return True
    return True
