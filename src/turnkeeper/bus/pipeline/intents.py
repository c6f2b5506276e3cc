"""Recognising what skills have said they understand: templates of whole sentences, and keywords anywhere in one.

The same words always give the same intent. The one that names most of the words wins, then the one that was
registered first. What skills register over the bus is bounded: by length, by number, and by the sum of it all.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from turnkeeper.bus import context, recency
from turnkeeper.bus.message import Message
from turnkeeper.bus.pipeline.templates import MOST_WORDS, MalformedTemplate, Template, values
from turnkeeper.bus.pipeline.words import MOST_CHARACTERS as MOST_SAID
from turnkeeper.bus.pipeline.words import Words
from turnkeeper.bus.plugins import RESERVED, KnownIntent, Match, Utterance

log = logging.getLogger(__name__)

REGISTER_TEMPLATE = "ovos.intent.register.template"
REGISTER_KEYWORD = "ovos.intent.register.keyword"
DEREGISTER = "ovos.intent.deregister"
ENABLE, DISABLE = "ovos.intent.enable", "ovos.intent.disable"
SKILL_DEREGISTER = "ovos.skill.deregister"

MOST_INTENTS = 5_000
MOST_SAMPLES = 2_000
MOST_CHARACTERS = 4_000_000
"""In all samples of all intents together."""
MOST_LANGUAGES = 50
AT_ONCE = 50
"""After so many intents others have their turn: a round that takes too long can then be called off."""


class Refused(ValueError):
    """An intent that is not taken; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words that mean one thing to an intent."""

    name: str
    samples: tuple[Template, ...]

    def occurs_in(self, words: Words) -> tuple[int, int] | None:
        """Where it stands: the longest, and of these the first."""
        places = [place for sample in self.samples if (place := sample.occurs_in(words)) is not None]
        return max(places, key=lambda place: (place[1] - place[0], -place[0]), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """All of `required` must be said, one of each group in `one_of`, none of `excluded`."""

    required: tuple[Vocabulary, ...] = ()
    optional: tuple[Vocabulary, ...] = ()
    one_of: tuple[tuple[Vocabulary, ...], ...] = ()
    excluded: tuple[Vocabulary, ...] = ()

    @property
    def wanted(self) -> tuple[Vocabulary, ...]:
        return (*self.required, *(each for group in self.one_of for each in group), *self.optional)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensed:
    """How well an intent fits, and what its slots hold. The rank counts the words that are named, and templates."""

    rank: tuple[int, int]
    slots: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Intent:
    skill_id: str
    intent_name: str
    lang: str
    samples: tuple[Template, ...] = ()
    keywords: Keywords | None = None
    blacklist: tuple[Template, ...] = ()
    required_slots: tuple[str, ...] = ()
    requires_context: tuple[context.Gate, ...] = ()
    excludes_context: tuple[context.Gate, ...] = ()
    characters: int = field(default=0, compare=False)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.skill_id, self.intent_name, self.lang.casefold()

    @cached_property
    def slots(self) -> tuple[str, ...]:
        named = [name for sample in self.samples for name in sample.slots]
        vocabulary = [each.name for each in self.keywords.wanted] if self.keywords else []
        return tuple(dict.fromkeys([*named, *vocabulary, *self.required_slots]))

    def sensed(self, words: Words, session: Mapping[str, Any], now: float) -> Sensed | None:
        """How it fits, with what the context offers for its slots; what was said goes before that."""
        by_template = self._by_template(words)
        if by_template is None and self.keywords is None:
            return None
        offered = context.candidates(session, self.skill_id, self.slots, now)
        if any(phrase.occurs_in(words) is not None for phrase in self.blacklist):
            return None
        found = [each for each in (by_template, self._by_keywords(words, offered)) if each is not None]
        best = max(found, key=lambda each: each.rank, default=None)
        if best is None:
            return None
        slots = {**offered, **best.slots}
        if not all(slots.get(name) for name in self.required_slots):
            return None
        return Sensed(rank=best.rank, slots=slots)

    def _by_template(self, words: Words) -> Sensed | None:
        fits = [found for sample in self.samples if (found := sample.match(words)) is not None]
        best = max(fits, key=lambda found: found.literal, default=None)
        return None if best is None else Sensed(rank=(best.literal, 1), slots=values(best, words))

    def _by_keywords(self, words: Words, offered: Mapping[str, str]) -> Sensed | None:
        if self.keywords is None or len(words.folded) > MOST_WORDS:
            return None
        if any(each.occurs_in(words) is not None for each in self.keywords.excluded):
            return None
        places = {each.name: place for each in self.keywords.wanted if (place := each.occurs_in(words)) is not None}
        there = {*places, *offered}
        if not all(each.name in there for each in self.keywords.required):
            return None
        if not all(any(each.name in there for each in group) for group in self.keywords.one_of):
            return None
        # Something must have been said: the context alone is no utterance.
        if not places:
            return None
        covered = {word for first, end in places.values() for word in range(first, end)}
        return Sensed(
            rank=(len(covered), 0), slots={name: words.between(first, end) for name, (first, end) in places.items()}
        )


class Intents:
    """A pipeline plugin over all intents that skills have registered, in this process or over the bus."""

    def __init__(self) -> None:
        self._intents: dict[tuple[str, str, str], Intent] = {}
        self._disabled: set[tuple[str, str, str]] = set()
        self._characters = 0
        self._by_lang: dict[str, list[Intent]] = {}

    @property
    def pipeline_id(self) -> str:
        return "intents"

    def add(
        self,
        skill_id: str,
        intent_name: str,
        *,
        lang: str,
        samples: Sequence[str] = (),
        keywords: Mapping[str, Any] | None = None,
        blacklist: Sequence[str] = (),
        required_slots: Sequence[str] = (),
        requires_context: Sequence[context.Gate] = (),
        excludes_context: Sequence[context.Gate] = (),
    ) -> None:
        """Take an intent of a skill in one language; a second one of that name takes its place. Raises Refused.

        `keywords` has lists `required`, `optional` and `excluded` of `{name, samples}`, and `one_of` of such lists.
        """
        fields = {
            "skill_id": skill_id,
            "intent_name": intent_name,
            "lang": lang,
            "blacklist": list(blacklist),
            "required_slots": list(required_slots),
            "requires_context": list(requires_context),
            "excludes_context": list(excludes_context),
        }
        if samples or keywords is None:
            fields["samples"] = list(samples)
        try:
            self._take(_intent({**fields, **(keywords or {})}))
        except Refused as why:
            raise Refused(f"The intent {skill_id}:{intent_name} is not taken: {why}") from None

    def heard(self, message: Message) -> None:
        """What skills say of their intents over the bus."""
        hear = _HEARD.get(message.type)
        if hear is None:
            return
        try:
            hear(self, message.data)
        except Refused as why:
            facts = {name: repr(message.data.get(name))[:200] for name in ("skill_id", "intent_name", "lang")}
            log.warning("intent refused", extra={**facts, "topic": message.type, "why": str(why)})

    async def match(self, utterance: Utterance) -> Match | None:
        refused = recency.blacklisted(utterance.session)
        known = [intent for intent in self._in(utterance.lang) if intent.skill_id not in refused]
        allowed = [intent for intent in known if self._is_allowed(intent, utterance)]
        for text in utterance.candidates:
            if len(text) > MOST_SAID:
                continue
            words = Words(text=text)
            best: tuple[Sensed, Intent] | None = None
            for number, intent in enumerate(allowed):
                if number % AT_ONCE == 0:
                    await asyncio.sleep(0)
                sensed = intent.sensed(words, utterance.session, utterance.now)
                if sensed is not None and (best is None or sensed.rank > best[0].rank):
                    best = sensed, intent
            if best is not None:
                sensed, intent = best
                return Match(
                    skill_id=intent.skill_id,
                    intent_name=intent.intent_name,
                    lang=utterance.lang,
                    utterance=text,
                    slots=sensed.slots,
                )
        return None

    def intents(self) -> Sequence[KnownIntent]:
        return [
            KnownIntent(skill_id=intent.skill_id, intent_name=intent.intent_name, lang=intent.lang)
            for key, intent in self._intents.items()
            if key not in self._disabled
        ]

    def _in(self, lang: str) -> Iterable[Intent]:
        """The intents of one language; which ones these are is found out once, until the next change."""
        if lang not in self._by_lang:
            if len(self._by_lang) >= MOST_LANGUAGES:
                self._by_lang.clear()
            found = [intent for intent in self._intents.values() if is_same_language(intent.lang, lang)]
            self._by_lang[lang] = found
        return self._by_lang[lang]

    def _is_allowed(self, intent: Intent, utterance: Utterance) -> bool:
        session = utterance.session
        refused = session.get("blacklisted_intents")
        return (
            intent.key not in self._disabled
            and not (isinstance(refused, list) and f"{intent.skill_id}:{intent.intent_name}" in refused)
            and context.is_open(
                session, intent.skill_id, intent.requires_context, intent.excludes_context, utterance.now
            )
        )

    def _take(self, intent: Intent) -> None:
        former = self._intents.get(intent.key)
        if former is None and len(self._intents) >= MOST_INTENTS:
            raise Refused(f"there are {MOST_INTENTS} intents already")
        characters = self._characters + intent.characters - (former.characters if former else 0)
        if characters > MOST_CHARACTERS:
            raise Refused("there are too many samples already")
        self._characters = characters
        self._intents[intent.key] = intent
        self._by_lang.clear()
        self._disabled.discard(intent.key)

    def _register_template(self, data: Mapping[str, Any]) -> None:
        self._take(_intent({name: value for name, value in data.items() if name not in ROLES}))

    def _register_keyword(self, data: Mapping[str, Any]) -> None:
        self._take(_intent({name: value for name, value in data.items() if name != "samples"}))

    def _deregister(self, data: Mapping[str, Any]) -> None:
        for key in self._named(data):
            self._forget(key)

    def _deregister_skill(self, data: Mapping[str, Any]) -> None:
        skill_id = _identifier(data, "skill_id")
        for key in [key for key in self._intents if key[0] == skill_id]:
            self._forget(key)

    def _enable(self, data: Mapping[str, Any]) -> None:
        self._disabled.difference_update(self._named(data))

    def _disable(self, data: Mapping[str, Any]) -> None:
        self._disabled.update(self._named(data))

    def _named(self, data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """Those that are meant; without a language, in all of them."""
        skill_id, name, lang = _identifier(data, "skill_id"), _intent_name(data), data.get("lang")
        return [
            key
            for key, intent in self._intents.items()
            if key[:2] == (skill_id, name) and (not isinstance(lang, str) or is_same_language(intent.lang, lang))
        ]

    def _forget(self, key: tuple[str, str, str]) -> None:
        self._characters -= self._intents.pop(key).characters
        self._by_lang.clear()
        self._disabled.discard(key)


_HEARD: dict[str, Callable[[Intents, Mapping[str, Any]], None]] = {
    REGISTER_TEMPLATE: Intents._register_template,
    REGISTER_KEYWORD: Intents._register_keyword,
    DEREGISTER: Intents._deregister,
    SKILL_DEREGISTER: Intents._deregister_skill,
    ENABLE: Intents._enable,
    DISABLE: Intents._disable,
}

ROLES = ("required", "optional", "one_of", "excluded")


def is_same_language(one: str, other: str) -> bool:
    """`en` is any English; of two with a region both must be the same."""
    one, other = one.casefold(), other.casefold()
    return one == other or one.startswith(f"{other}-") or other.startswith(f"{one}-")


# --- reading what a skill says of an intent


def _intent(data: Mapping[str, Any]) -> Intent:
    name = _intent_name(data)
    if name in RESERVED:
        raise Refused(
            f"{name!r} is one of the names that mean something to the pipeline itself ({', '.join(sorted(RESERVED))}); "
            "no samples lead to it. Choose another name, or give it a handler only"
        )
    lang = data.get("lang")
    if not isinstance(lang, str) or not 0 < len(lang) <= 50:
        raise Refused("`lang` is no language")
    keywords = _keywords(data) if any(data.get(role) for role in ROLES) else None
    samples = _templates(data, "samples")
    if not samples and keywords is None:
        raise Refused("it has neither samples nor keywords")
    blacklist = _templates(data, "blacklist")
    return Intent(
        skill_id=_identifier(data, "skill_id"),
        intent_name=name,
        lang=lang,
        samples=samples,
        keywords=keywords,
        blacklist=blacklist,
        required_slots=tuple(_texts(data, "required_slots")),
        requires_context=tuple(_gates(data, "requires_context")),
        excludes_context=tuple(_gates(data, "excludes_context")),
        characters=sum(len(each.text) for each in (*samples, *blacklist)) + _characters_of(keywords),
    )


def _keywords(data: Mapping[str, Any]) -> Keywords:
    groups = _list(data, "one_of")
    keywords = Keywords(
        required=tuple(_vocabulary(each) for each in _list(data, "required")),
        optional=tuple(_vocabulary(each) for each in _list(data, "optional")),
        one_of=tuple(tuple(_vocabulary(each) for each in _list({"one_of": group}, "one_of")) for group in groups),
        excluded=tuple(_vocabulary(each) for each in _list(data, "excluded")),
    )
    if not keywords.required and not keywords.one_of:
        raise Refused("nothing must be said for it; it needs `required` or `one_of`")
    names = [each.name for each in (*keywords.wanted, *keywords.excluded)]
    if len(names) != len(set(names)):
        raise Refused("a vocabulary has one role")
    return keywords


def _vocabulary(descriptor: Any) -> Vocabulary:
    if not isinstance(descriptor, Mapping):
        raise Refused("a vocabulary is `{name, samples}`")
    samples = _templates(descriptor, "samples")
    if not samples or any(sample.slots for sample in samples):
        raise Refused("a vocabulary needs samples, and they have no slots")
    return Vocabulary(name=_identifier(descriptor, "name"), samples=samples)


def _templates(data: Mapping[str, Any], name: str) -> tuple[Template, ...]:
    return tuple(_template(text, name) for text in _texts(data, name))


def _template(text: str, name: str) -> Template:
    try:
        return Template(text=text)
    except MalformedTemplate as why:
        raise Refused(f"{text[:80]!r} in `{name}` cannot be read: {why}") from why


def _characters_of(keywords: Keywords | None) -> int:
    everything: Iterable[Vocabulary] = (*keywords.wanted, *keywords.excluded) if keywords else ()
    return sum(len(sample.text) for vocabulary in everything for sample in vocabulary.samples)


def _identifier(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 200 or ":" in value:
        raise Refused(f"`{name}` is no name")
    return value


def _intent_name(data: Mapping[str, Any]) -> str:
    """Old skills leave the ending of a file in it."""
    return _identifier(data, "intent_name").removesuffix(".intent") or "intent"


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    found = data.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or len(found) > MOST_SAMPLES:
        raise Refused(f"`{name}` is no list of {MOST_SAMPLES} at most")
    return found


def _texts(data: Mapping[str, Any], name: str) -> list[str]:
    found = _list(data, name)
    if not all(isinstance(each, str) and each for each in found):
        raise Refused(f"`{name}` holds something that is no text")
    return found


def _gates(data: Mapping[str, Any], name: str) -> list[context.Gate]:
    found = _list(data, name)
    if any(context.stored_key(each, "owner") is None for each in found):
        raise Refused(f"`{name}` holds something that is no key")
    return found
