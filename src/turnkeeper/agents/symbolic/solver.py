"""gs-symbolic: answers from units and what follows from them, and says plainly when it does not know."""

from turnkeeper.agents.symbolic.acknowledge import acknowledge
from turnkeeper.agents.symbolic.forgetting import forget, wants_to_forget
from turnkeeper.agents.symbolic.inference import Triples
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.listing import list_all, list_comparison, list_related, list_what_is_known
from turnkeeper.agents.symbolic.matching import Evidence
from turnkeeper.agents.symbolic.question import Question, QuestionKind, names_of, parts_of, read_question
from turnkeeper.agents.symbolic.reference import put_in
from turnkeeper.agents.symbolic.saying import not_known, plainly, saying
from turnkeeper.agents.symbolic.small_talk import small_talk
from turnkeeper.agents.symbolic.verdict import decide
from turnkeeper.model.unit import UnitRole
from turnkeeper.ports.plugins import (
    Depth,
    PlannerHints,
    PluginCall,
    PluginDescriptor,
    PluginKind,
    Solution,
    SolveStatus,
    Task,
)

LISTS = {
    QuestionKind.CONSTRAINTS: UnitRole.CONSTRAINT,
    QuestionKind.PREFERENCES: UnitRole.EVALUATION,
    QuestionKind.DISLIKES: UnitRole.EVALUATION,
    QuestionKind.PROBLEMS: UnitRole.DIAGNOSTIC,
}


OF_THE_TALK = (QuestionKind.SELF, QuestionKind.SOURCES, QuestionKind.REMEMBERED)
"""Questions about the conversation itself, in which "that" is nothing that was named."""


class SymbolicSolver:
    descriptor = PluginDescriptor(
        id="gs-symbolic",
        kind=PluginKind.GOAL_SOLVER,
        name="Symbolic goal solver",
        description="Answers from what is known, with citations and small inference, without a model.",
        hints=PlannerHints(depth=Depth.SHALLOW),
    )

    async def solve(self, task: Task, call: PluginCall) -> Solution:
        if not task.seed.asks:
            return await acknowledge(task, call.memory)
        if (said := small_talk(task.seed.text)) is not None:
            return plainly(said)
        if (what := wants_to_forget(task.seed.text)) is not None:
            return await forget(what, call.memory)
        if (question := read_question(task.seed.text)).kind in OF_THE_TALK:
            return await _answer(question, task, call)
        text = put_in(task.seed.text, task.seed.refers_to)
        question = read_question(text)
        parts = parts_of(text) or _several(question, task)
        if parts and call.depth < call.context.budget.limits.depth:
            return Solution(status=SolveStatus.NEEDS_DECOMPOSITION, questions=parts)
        return await _answer(question, task, call)


def _several(question: Question, task: Task) -> tuple[str, ...]:
    """Several things that are asked about at once, unless something is known about all of them together."""
    if question.kind is not QuestionKind.ABOUT or Evidence(question, task.evidence).speaking_of_all():
        return ()
    return names_of(question)


async def _answer(question: Question, task: Task, call: PluginCall) -> Solution:
    replies = speech().replies
    evidence = Evidence(question, task.evidence)
    triples = Triples(call.memory, task.staged)
    match question.kind:
        case QuestionKind.SELF:
            return plainly(replies["who_am_i"])
        case QuestionKind.SOURCES:
            return plainly(replies["sources"])
        case QuestionKind.REMEMBERED:
            return await list_what_is_known(task, call.memory)
        case QuestionKind.YES_NO:
            return await decide(question, evidence, triples, call.memory)
        case QuestionKind.COMPARE:
            return await list_comparison(question, evidence, call.memory)
        case QuestionKind.RELATED:
            related = await list_related(question, triples)
            return related or _best(question, evidence)
        case QuestionKind.ABOUT:
            return _about(question, evidence)
        case QuestionKind.DEFINE | QuestionKind.WHO if question.name is not None:
            return _definition(question, evidence)
        case kind if kind in LISTS:
            listed = await list_all(LISTS[kind], question, task, call.memory)
            if listed is None and question.kind in (QuestionKind.PREFERENCES, QuestionKind.DISLIKES):
                return plainly(replies["nothing_of_kind"], known=False)
            return listed or _best(question, evidence)
        case QuestionKind.REQUEST:
            best = _best(question, evidence)
            return best if best.status is SolveStatus.SUCCESS else _cannot(question, evidence)
        case _:
            return _best(question, evidence)


def _best(question: Question, evidence: Evidence) -> Solution:
    answers = evidence.answers()
    if answers:
        return saying(answers)
    return not_known(evidence.related(), question)


def _about(question: Question, evidence: Evidence) -> Solution:
    spoken_of = evidence.speaking_of_all()
    return saying(spoken_of, is_list=True) if spoken_of else not_known(evidence.related(), question)


def _definition(question: Question, evidence: Evidence) -> Solution:
    """What something is: the units that define it, else those that speak of it."""
    defining = evidence.defining()
    if defining:
        return saying(defining)
    if question.kind is QuestionKind.DEFINE:
        return not_known(evidence.related(), question)
    return _best(question, evidence)


def _cannot(question: Question, evidence: Evidence) -> Solution:
    related = evidence.speaking_of_all()
    if related:
        return saying(related[:3])
    return plainly(speech().replies["cannot"], known=False)
