"""An utterance for a plugin to be asked about, on a bus where the answers are known beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.bus.message import Message
from turnkeeper.bus.plugins import Utterance

NOW = 1000.0


@dataclass(kw_only=True)
class Bus:
    """Gives its answers one by one, in this order, and stops as soon as the asker has enough."""

    answers: Sequence[dict[str, Any]] = ()
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    given: int = 0

    async def __call__(
        self,
        topic: str,
        data: dict[str, Any],
        *,
        answers: str,
        seconds: float,
        is_enough: Callable[[Sequence[Message]], bool],
    ) -> Sequence[Message]:
        self.asked.append((topic, data))
        heard: list[Message] = []
        for answer in self.answers:
            if is_enough(heard):
                break
            heard.append(Message(type=answers, data=answer))
        self.given = len(heard)
        return heard


def an_utterance(
    *said: str, lang: str = "en-US", session: dict[str, Any] | None = None, poll: Bus | None = None
) -> Utterance:
    return Utterance(candidates=said, lang=lang, session=session or {}, now=NOW, poll=poll or Bus())


def handlers(*skills: str) -> list[dict[str, Any]]:
    """The first one is the newest."""
    return [{"skill_id": skill, "activated_at": NOW - 1 - place} for place, skill in enumerate(skills)]


def yes(skill_id: str) -> dict[str, Any]:
    return {"skill_id": skill_id, "can_handle": True}


def no(skill_id: str, **more: Any) -> dict[str, Any]:
    return {"skill_id": skill_id, "can_handle": False, **more}
