"""What a run committed: number n of its session."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.model.checkpoint import Ask
from turnkeeper.model.ids import MessageId, RunId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.run import Finish, Run
from turnkeeper.model.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All of it is kept, or none of it. `state` is the agent's state after this turn."""

    number: int
    run_id: RunId
    epoch: int
    messages: tuple[Message, ...]
    state: Mapping[str, Any]
    finish: Finish
    committed_at: datetime

    def __post_init__(self) -> None:
        if not self.messages:
            raise ValueError("a Turn holds at least the message that it answers")
        if any(message.turn != self.number or message.epoch != self.epoch for message in self.messages):
            raise ValueError("the messages of a Turn carry its number and its epoch")

    @classmethod
    def of(
        cls,
        run: Run,
        session: Session,
        *,
        asks: tuple[Ask, ...],
        text: str,
        state: Mapping[str, Any],
        finish: Finish,
        at: datetime,
    ) -> "Turn":
        """The next turn of this session: what the user sent, what was asked and answered, and the text at the end.

        Text that never came, when a turn was interrupted before it, is not a message.
        """
        said = [(Speaker.USER, event.as_text) for event in run.input.events]
        for ask in asks:
            said += [(Speaker.ASSISTANT, ask.shown), (Speaker.USER, ask.answer or "")]
        if text or finish is Finish.DONE:
            said.append((Speaker.ASSISTANT, text))
        number, name = session.turns + 1, run.id.removeprefix("run_")
        messages = tuple(
            Message(
                id=MessageId(f"msg_{name}{place:02d}"),
                seq=session.last_seq + 1 + place,
                turn=number,
                epoch=session.epoch.number,
                role=speaker,
                content=content,
                created_at=run.accepted_at if speaker is Speaker.USER else at,
            )
            for place, (speaker, content) in enumerate(said)
        )
        return cls(
            number=number,
            run_id=run.id,
            epoch=session.epoch.number,
            messages=messages,
            state=state,
            finish=finish,
            committed_at=at,
        )

    @property
    def first_seq(self) -> int:
        return self.messages[0].seq

    @property
    def last_seq(self) -> int:
        return self.messages[-1].seq
