"""What a run committed: number n of its session."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.model.band import Lifetime
from turnkeeper.model.checkpoint import Ask
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.event import Event
from turnkeeper.model.ids import MessageId, RunId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.outbound import Delivery
from turnkeeper.model.pack import PackPin
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run import Finish, Run
from turnkeeper.model.session import Session
from turnkeeper.model.unit import UnitChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All of it is kept, or none of it. `state` is the agent's state after this turn.

    `preferences` are what the session would rather use next, `packs` what it is pinned to from now on, with the
    `lifetime` that this means, `dialogue` what it holds about its intent, `agent_head` where the agent's own memory
    stands; None leaves each as it is. `intent` is what the caller is told of it. `account` is what the run spent and
    what it was bound to. Turn 0 is what a session took over from the one that it continues, a fork begins with the turn
    that it was taken off after, and what a client has kept until now with its last one; no run of ours made them.
    One that has no messages stands after number `after_seq`. `deliveries` go out once it is kept.
    """

    number: int
    run_id: RunId
    epoch: int
    messages: tuple[Message, ...]
    state: Mapping[str, Any]
    finish: Finish
    committed_at: datetime
    units: UnitChanges = field(default_factory=UnitChanges)
    preferences: Preferences | None = None
    packs: tuple[PackPin, ...] | None = None
    lifetime: Lifetime | None = None
    dialogue: Dialogue | None = None
    intent: Mapping[str, Any] | None = None
    deliveries: tuple[Delivery, ...] = ()
    agent_head: Mapping[str, Any] | None = None
    account: Mapping[str, Any] | None = None
    after_seq: int = 0

    def __post_init__(self) -> None:
        if not self.messages and self.run_id:
            raise ValueError("a Turn holds at least the message that it answers")
        if self.run_id and any(each.turn != self.number or each.epoch != self.epoch for each in self.messages):
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
        units: UnitChanges | None = None,
        preferences: Preferences | None = None,
        packs: tuple[PackPin, ...] | None = None,
        lifetime: Lifetime | None = None,
        dialogue: Dialogue | None = None,
        intent: Mapping[str, Any] | None = None,
        deliveries: tuple[Delivery, ...] = (),
        agent_head: Mapping[str, Any] | None = None,
        account: Mapping[str, Any] | None = None,
    ) -> "Turn":
        """The next turn of this session: what the user sent, what was asked and answered, and the text at the end.

        Text that never came, when a turn was interrupted before it, is not a message.
        """
        said = [(Speaker.USER, event.as_text, _beyond(event)) for event in run.input.events]
        for ask in asks:
            said += [(speaker, words, None) for speaker, words in ask.spoken]
        if text or finish is Finish.DONE:
            said.append((Speaker.ASSISTANT, text, None))
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
                event=beyond,
            )
            for place, (speaker, content, beyond) in enumerate(said)
        )
        return cls(
            number=number,
            run_id=run.id,
            epoch=session.epoch.number,
            messages=messages,
            state=state,
            finish=finish,
            committed_at=at,
            units=units or UnitChanges(),
            preferences=preferences,
            packs=packs,
            lifetime=lifetime,
            dialogue=dialogue,
            intent=intent,
            deliveries=deliveries,
            agent_head=agent_head,
            account=account,
        )

    @property
    def first_seq(self) -> int:
        return self.messages[0].seq if self.messages else self.after_seq + 1

    @property
    def last_seq(self) -> int:
        return self.messages[-1].seq if self.messages else self.after_seq


def _beyond(event: Event) -> Mapping[str, Any] | None:
    """What an Event holds beyond its text; None for most."""
    return event.beyond_text or None
