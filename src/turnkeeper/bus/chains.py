"""Running the transformers of one hook, one after the other, as the session and the deployment want them."""

import asyncio
import copy
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.bus import carrier
from turnkeeper.bus.awaited import require_async
from turnkeeper.bus.message import is_json
from turnkeeper.bus.plugins import Match
from turnkeeper.bus.transformers import Chained, Hook, Transformed, Transformer

log = logging.getLogger(__name__)

TRANSFORMER_SECONDS = 10.0


class Chains:
    """All transformers that are there, by the hook at which they stand."""

    def __init__(self, transformers: Iterable[Transformer] = (), *, seconds: float = TRANSFORMER_SECONDS) -> None:
        """One that takes longer than so many seconds counts as nothing changed."""
        self._seconds = seconds
        self._by_hook: dict[Hook, dict[str, Transformer]] = {hook: {} for hook in Hook}
        for each in transformers:
            self.add(each)

    def add(self, transformer: Transformer) -> None:
        """Raises ValueError for a second one with the same id at the same hook, and for one that is not async."""
        there = self._by_hook[transformer.hook]
        if not transformer.id or transformer.id in there:
            raise ValueError(f"a transformer {transformer.id!r} stands at the hook {transformer.hook} already")
        require_async(transformer.transform, f"`transform` of the transformer {transformer.id!r}")
        there[transformer.id] = transformer

    def listing(self, hook: Hook) -> dict[str, Any]:
        """What a query about this hook is told."""
        loaded = sorted(self._by_hook[hook].values(), key=lambda each: (each.priority, each.id))
        return {"loaded": [each.id for each in loaded], "priorities": {each.id: each.priority for each in loaded}}

    def composed(self, session: Mapping[str, Any]) -> "Composed":
        """The chains for one utterance, from the session as it is when the utterance comes in."""
        return Composed(by_hook={hook: self._chain(hook, session) for hook in Hook}, seconds=self._seconds)

    def _chain(self, hook: Hook, session: Mapping[str, Any]) -> tuple[Transformer, ...]:
        """What the session prefers, as far as it is there and not ruled out; else everything by priority."""
        there = self._by_hook[hook]
        preferred = _names(session, f"{hook}_transformers")
        if unknown := [name for name in preferred if name not in there]:
            log.warning("transformers unknown", extra={"hook": str(hook), "ids": unknown})
        names = list(dict.fromkeys(preferred)) or self.listing(hook)["loaded"]
        refused = set(_names(session, f"blacklisted_{hook}_transformers"))
        return tuple(there[name] for name in names if name in there and name not in refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The chains that one utterance goes through; they stay the same from its first hook to its last."""

    by_hook: Mapping[Hook, Sequence[Transformer]]
    seconds: float = TRANSFORMER_SECONDS

    async def run(self, hook: Hook, artifact: Any, context: Mapping[str, Any], lang: str | None = None) -> Chained:
        """Everything that the chain of this hook makes of it. The input stays as it is."""
        now = Chained(artifact=copy.deepcopy(artifact), context=copy.deepcopy(dict(context)), lang=lang)
        for transformer in self.by_hook.get(hook, ()):
            now = await _through(transformer, hook, now, self.seconds)
            if now.cancelled_by is not None:
                break
        return now


async def _through(transformer: Transformer, hook: Hook, before: Chained, seconds: float) -> Chained:
    artifact, context = copy.deepcopy(before.artifact), copy.deepcopy(before.context)
    try:
        async with asyncio.timeout(seconds):
            made = await transformer.transform(artifact, context, before.lang)
    except Exception:
        log.warning("transformer failed", exc_info=True, extra={"hook": str(hook), "id": transformer.id})
        return before
    if (fault := _fault(hook, before, made)) is not None:
        log.warning("transformer ignored", extra={"hook": str(hook), "id": transformer.id, "fault": fault})
        return before
    context = copy.deepcopy(dict(made.context))
    stamp = f"{hook}_transformer_ids"
    ran = [each for each in _names(before.context, stamp) if each]
    context[stamp] = [*ran, transformer.id]
    cancelled = _is_called_off(context) and not _is_called_off(before.context)
    if cancelled:
        context["cancel_by"] = transformer.id
    return Chained(
        artifact=copy.deepcopy(made.artifact),
        context=context,
        lang=before.lang if made.lang is None else made.lang,
        touched_by=(*before.touched_by, transformer.id),
        cancelled_by=transformer.id if cancelled else None,
    )


def _fault(hook: Hook, before: Chained, made: Any) -> str | None:
    """What is wrong with the shape of what a transformer gave; then it counts as nothing changed."""
    if not isinstance(made, Transformed) or not isinstance(made.context, Mapping):
        return "no Transformed"
    if not is_json(dict(made.context)):
        return "the context is not JSON"
    if _calling_off(made.context) != _calling_off(before.context) and not _is_called_off(made.context):
        return "calling off needs both `canceled` and `cancel_reason`"
    session = made.context.get("session")
    if session is not None and not isinstance(session, dict):
        return "the session is no object"
    if isinstance(session, dict) and carrier.session_id_of(session) != carrier.session_id_of(_session(before)):
        return "the session is another one"
    if made.context.get("utterance_id") != before.context.get("utterance_id"):
        return "the utterance is another one"
    lang: Any = made.lang
    if lang is not None and (not isinstance(lang, str) or not lang):
        return "the language is no text"
    return ARTIFACTS[hook](before.artifact, made.artifact)


def _audio(before: Any, after: Any) -> str | None:
    return None if isinstance(after, bytes) else "the sound is no bytes"


def _utterances(before: Any, after: Any) -> str | None:
    is_list = isinstance(after, list | tuple) and all(isinstance(each, str) and each for each in after)
    return None if is_list else "the utterances are no list of texts"


def _nothing(before: Any, after: Any) -> str | None:
    return None if after == before else "there is nothing to change here but the context"


def _match(before: Any, after: Any) -> str | None:
    """The intent stays the one that was found; slots may be added."""
    if not isinstance(after, Match) or not after.is_sound:
        return "no sound match"
    if (after.skill_id, after.intent_name) != (before.skill_id, before.intent_name):
        return "the intent is another one"
    return None


def _text(before: Any, after: Any) -> str | None:
    return None if isinstance(after, str) else "the reply is no text"


ARTIFACTS: dict[Hook, Callable[[Any, Any], str | None]] = {
    Hook.AUDIO: _audio,
    Hook.UTTERANCE: _utterances,
    Hook.METADATA: _nothing,
    Hook.INTENT: _match,
    Hook.DIALOG: _text,
    Hook.TTS: _audio,
}


def _calling_off(context: Mapping[str, Any]) -> tuple[Any, Any]:
    return context.get("canceled"), context.get("cancel_reason")


def _is_called_off(context: Mapping[str, Any]) -> bool:
    canceled, reason = _calling_off(context)
    return canceled is True and isinstance(reason, str) and bool(reason)


def _session(chained: Chained) -> Mapping[str, Any]:
    session = chained.context.get("session")
    return session if isinstance(session, Mapping) else {}


def _names(mapping: Mapping[str, Any], key: str) -> list[str]:
    names = mapping.get(key)
    return [each for each in names if isinstance(each, str)] if isinstance(names, list) else []
