"""gs-llm: answers from the evidence in the words of a chat model, held to what it was given."""

import re
from collections.abc import Iterator

import msgspec

from turnkeeper.agents.symbolic.acknowledge import acknowledge
from turnkeeper.agents.symbolic.model_detector import unfenced
from turnkeeper.agents.symbolic.prompts import SOLVE
from turnkeeper.agents.symbolic.reference import put_in
from turnkeeper.agents.symbolic.staged import as_found, still_true
from turnkeeper.model.plain_text import is_plain_text, without_controls
from turnkeeper.model.recall import SESSION_PLACE, FoundUnit
from turnkeeper.model.unit import Act
from turnkeeper.ports.chat_model import ChatMessage, ChatModel, ChatRole, ModelFailed, ModelFault
from turnkeeper.ports.plugins import (
    CostClass,
    Depth,
    PlannerHints,
    PluginCall,
    PluginDescriptor,
    PluginKind,
    Solution,
    SolveStatus,
    Statement,
    Task,
)

MOST_ANSWER_CHARS = 20_000
# The white space is bounded, so that an answer of nothing else is read in one go.
_MARK = re.compile(r"\s{0,9}\[(\d+(?:\s*,\s*\d+)*)\]")
_SENTENCE = re.compile(r".+?(?:[.!?](?:\s*\[[\d,\s]+\])*(?=\s|$)|\n+|$)", re.DOTALL)


class _Reply(msgspec.Struct, forbid_unknown_fields=True):
    known: bool
    answer: str


class ModelSolver:
    """One call of the model for a question.

    A reply that cites what it was not given is no answer, nor is one that claims to know and cites nothing.
    """

    descriptor = PluginDescriptor(
        id="gs-llm",
        kind=PluginKind.GOAL_SOLVER,
        name="Goal solver with a model",
        description="Writes an answer from evidence with a chat model: explains, compares, recommends, summarizes.",
        cost=CostClass.EXPENSIVE,
        uses_model=True,
        most_model_calls=1,
        hints=PlannerHints(depth=Depth.DEEP, acts=(Act.RECOMMEND,)),
    )

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def solve(self, task: Task, call: PluginCall) -> Solution:
        if not task.seed.asks:
            return await acknowledge(task, call.memory)
        evidence = (*task.evidence, *still_true(as_found(task.staged), [each.unit for each in task.evidence]))
        asked = {
            "evidence": [_shown(number, found) for number, found in enumerate(evidence, start=1)],
            "guidance": [unit.content for unit in task.guidance],
            "question": put_in(task.seed.text, task.seed.refers_to),
        }
        messages = [
            ChatMessage(role=ChatRole.SYSTEM, content=SOLVE),
            ChatMessage(role=ChatRole.USER, content=msgspec.json.encode(asked).decode()),
        ]
        call.model_call()
        completion = await self._model.complete(messages, deadline=call.context.deadline, json=True, model=call.model)
        try:
            reply = msgspec.json.decode(unfenced(completion.text), type=_Reply)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ModelFailed(
                ModelFault.ANSWER_UNREADABLE, "The model answered with something else than asked."
            ) from None
        statements = tuple(_statements(_readable(reply.answer), len(evidence)))
        if not statements:
            raise ModelFailed(ModelFault.ANSWER_UNREADABLE, "The model answered with nothing.")
        if reply.known and not any(said.rests_on for said in statements):
            raise ModelFailed(ModelFault.ANSWER_UNREADABLE, "The model claims to know and cites no evidence.")
        used = sorted({place for said in statements for place in said.rests_on})
        return Solution(
            status=SolveStatus.SUCCESS if reply.known else SolveStatus.NO_CONTEXT,
            statements=tuple(
                Statement(text=said.text, rests_on=tuple(used.index(place) for place in said.rests_on))
                for said in statements
            ),
            sources=tuple(evidence[place] for place in used),
            model=completion.model,
        )


def _readable(answer: str) -> str:
    """Without what steers a terminal. A text that no store can keep is no answer."""
    if len(answer) > MOST_ANSWER_CHARS:
        raise ModelFailed(ModelFault.ANSWER_TOO_LARGE, f"The answer is longer than {MOST_ANSWER_CHARS} characters.")
    if not is_plain_text(answer):
        raise ModelFailed(ModelFault.ANSWER_UNREADABLE, "The model said a NUL character or half of a surrogate pair.")
    return without_controls(answer)


def _shown(number: int, found: FoundUnit) -> dict[str, object]:
    said_by = "the person" if found.place == SESSION_PLACE else found.unit.source_name or "a source"
    return {"number": number, "from": said_by, "topic": found.unit.topic, "says": found.unit.content}


def _statements(answer: str, evidence: int) -> Iterator[Statement]:
    """Sentence by sentence, with its marks taken out of the text."""
    for sentence in _SENTENCE.findall(answer):
        places = [int(number) - 1 for marks in _MARK.findall(sentence) for number in marks.split(",")]
        if any(place not in range(evidence) for place in places):
            raise ModelFailed(ModelFault.ANSWER_UNREADABLE, "The model cites evidence that it was not given.")
        text = _MARK.sub("", sentence).strip()
        if text:
            yield Statement(text=text, rests_on=tuple(dict.fromkeys(places)))
