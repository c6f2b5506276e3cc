"""Finding out what a user wants: by rules, by a model, or by the one where the other does not know.

What is told of it holds codes, confidences and counts, and never what somebody said.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.intent.judging import Reason, judge
from turnkeeper.intent.resolving_by_model import ask_model
from turnkeeper.intent.scoring import score
from turnkeeper.model.budget import Budget
from turnkeeper.model.pack_config import PackConfig, ResolverChoice
from turnkeeper.model.resolution import Judgement, Resolution, ResolvedBy, ResolveInput, Verdict
from turnkeeper.model.stages import StageName
from turnkeeper.ports.chat_model import ChatModel

Note = Callable[[str, Mapping[str, Any]], None]


async def resolve(
    asked: ResolveInput,
    *,
    config: PackConfig,
    model: ChatModel | None,
    budget: Budget,
    deadline: datetime,
    has_schema: Callable[[str], bool],
    note: Note,
) -> Judgement:
    """A model that gives nothing usable leaves it to the rules; `deadline` is until when it may take."""
    bench = _Bench(asked=asked, config=config, has_schema=has_schema, note=note)
    if config.resolver is ResolverChoice.RULES:
        return bench.decided(ResolvedBy.CLASSIFIER, bench.by_rules())
    by_rules = bench.by_rules() if config.resolver is ResolverChoice.AUTO else None
    if by_rules is not None and by_rules.verdict is Verdict.ACCEPTED:
        return bench.decided(ResolvedBy.CLASSIFIER, by_rules)
    by_model = await bench.by_model(model, budget, deadline)
    # A question of the rules is worth more than nothing from the model.
    if by_model is None or (by_model.verdict is Verdict.REJECTED and by_rules and by_rules.question):
        return bench.decided(ResolvedBy.CLASSIFIER, by_rules or bench.by_rules())
    return bench.decided(ResolvedBy.AGENT, by_model)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    asked: ResolveInput
    config: PackConfig
    has_schema: Callable[[str], bool]
    note: Note

    def by_rules(self) -> Judgement:
        judgement = self._judge(score(self.asked))
        self.note(_OF_RULES[judgement.verdict], _told(judgement))
        return judgement

    async def by_model(self, model: ChatModel | None, budget: Budget, deadline: datetime) -> Judgement | None:
        if model is None or not self.asked.intents:
            reason = "no_model" if model is None else "no_intents"
            self.note(StageName.INTENT_AGENT_SKIPPED, {"reason": reason})
            return None
        answer = await ask_model(self.asked, model=model, budget=budget, deadline=deadline)
        if answer.resolution is None:
            stage = StageName.INTENT_AGENT_REJECTED if answer.was_asked else StageName.INTENT_AGENT_SKIPPED
            self.note(stage, {"reason": answer.reason})
            return None
        judgement = self._judge(answer.resolution)
        if judgement.reason == Reason.CLARIFICATION_SUPPRESSED:
            self.note(StageName.INTENT_AGENT_CLARIFICATION_SUPPRESSED_SCHEMA_FLOW, {"intent": judgement.intent})
        self.note(_of_model(judgement), _told(judgement))
        return judgement

    def decided(self, source: ResolvedBy, judgement: Judgement) -> Judgement:
        if judgement.verdict is Verdict.ACCEPTED:
            self.note(_RESOLVED[source], _told(judgement))
        return judgement

    def _judge(self, resolution: Resolution) -> Judgement:
        return judge(
            resolution,
            intents=self.asked.intents,
            config=self.config,
            clarification=self.asked.clarification,
            has_schema=self.has_schema,
        )


_OF_RULES = {
    Verdict.ACCEPTED: StageName.INTENT_CLASSIFICATION_MATCHED,
    Verdict.UNCLEAR: StageName.INTENT_CLASSIFIER_COLLISION,
    Verdict.REJECTED: StageName.INTENT_CLASSIFIER_NO_MATCH,
}
_RESOLVED = {
    ResolvedBy.CLASSIFIER: StageName.INTENT_RESOLVED_BY_CLASSIFIER,
    ResolvedBy.AGENT: StageName.INTENT_RESOLVED_BY_AGENT,
}


def _of_model(judgement: Judgement) -> StageName:
    if judgement.verdict is Verdict.ACCEPTED:
        return StageName.INTENT_AGENT_ACCEPTED
    if judgement.verdict is Verdict.REJECTED:
        return StageName.INTENT_AGENT_REJECTED
    is_collision = judgement.reason == Reason.COLLISION
    return StageName.INTENT_AGENT_COLLISION if is_collision else StageName.INTENT_AGENT_NEEDS_CLARIFICATION


def _told(judgement: Judgement) -> Mapping[str, Any]:
    told: dict[str, Any] = {"confidence": judgement.confidence}
    if judgement.verdict is Verdict.ACCEPTED:
        return {"intent": judgement.intent, "state": judgement.state} | told
    if judgement.verdict is Verdict.UNCLEAR:
        return told | {"options": [option.code for option in judgement.options]}
    return told | {"reason": str(judgement.reason)}
