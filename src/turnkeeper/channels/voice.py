"""What was heard on a call: a transcript with the confidence of each token and the turns of its speakers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnkeeper.channels.json_bodies import read_object
from turnkeeper.channels.normalizing import MESSAGE, SIGNALS, signals_of, text_event, told_of_body, warn
from turnkeeper.channels.plain import plain
from turnkeeper.channels.shapes import Shape
from turnkeeper.channels.signatures import is_vouched
from turnkeeper.channels.transcripts import MOST_TOKENS, Transcript, read_transcript
from turnkeeper.errors import ChannelPayloadInvalid
from turnkeeper.model.event import Event, EventWarning
from turnkeeper.ports.channels import Arrival, KnownTerms, Raw, Said, SettingKind, Terms

MOST_ADDRESS = 320
_NO_SIGNALS = frozenset(("message", "locale", "caller", "from", "delivery_id", "call_id"))
_CALLERS = ("caller", "from")


class VoiceChannel:
    """Warns of a transcript whose mean confidence, or that of one token, lies below these."""

    name = "voice"
    known_terms = KnownTerms(settings={"address": SettingKind.TEXT, "tolerance_seconds": SettingKind.COUNT})

    def __init__(self, *, mean_below: float = 0.85, token_below: float = 0.60) -> None:
        self._mean_below = mean_below
        self._token_below = token_below

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        """The shape of a vendor, or our own. Who calls stands in the body, in the query or in the settings."""
        vouched = is_vouched(raw, terms, now=now)
        body = read_object(raw.body)
        heard = read_transcript(body)
        if heard is None and not ("asr" in body or "message" in body):
            raise ChannelPayloadInvalid.at("/asr", "is missing: this is no transcript of a known shape")
        named = Shape(body, "")
        query: dict[str, str] = plain(raw.query, "/query")
        address = _caller(named, body, query, terms)
        locale = named.text("locale", most=64) or query.get("locale")
        call_id = named.text("call_id", most=255) or query.get("call_id")
        delivery_id = named.text("delivery_id", most=255)
        named.settle()
        said = _said_by_us(body, named) if heard is None else _said_by_vendor(heard)
        thread = {} if call_id is None else {"call_id": call_id}
        locale = locale or (heard.locale if heard else None)
        said = Said(message=said.message, locale=locale, signals={**said.signals, **thread})
        with told_of_body():
            self.normalize(said)
        return Arrival(
            address=address,
            said=said,
            delivery_id=delivery_id or (heard.delivery_id if heard else None) or None,
            thread=thread,
            is_vouched=vouched,
        )

    def normalize(self, said: Said) -> Event:
        _check_count(said.signals)
        signals = signals_of(said)
        shape = Shape(signals, SIGNALS)
        asr = shape.object("asr") or Shape({}, f"{SIGNALS}/asr")
        tokens = _tokens(asr)
        turns = _turns(asr, len(tokens))
        final, is_truncated = asr.flag("final"), asr.flag("truncated")
        overall = asr.number("confidence", most=1)
        shape.settle()
        message = said.message if said.message.strip() else " ".join(text for text, _ in tokens)
        if not message.strip():
            raise ChannelPayloadInvalid.at(MESSAGE, "is empty: there is no transcript")
        known = [(text, confidence) for text, confidence in tokens if confidence is not None]
        confidence = _mean(known) if known else overall
        lowest = min((each for _, each in known), default=None)
        if "asr" in signals and lowest is not None:
            signals["asr"] = {**signals["asr"], "min_confidence": lowest}
        warnings = []
        if is_truncated:
            warnings.append(warn("asr_truncated", "The recognizer stopped before the speaker did."))
        if final is False:
            warnings.append(warn("asr_not_final", "The recognizer may still change its mind."))
        if len(known) < len(tokens) or not tokens:
            warnings.append(warn("asr_token_confidence_missing", "Of some tokens it is not known how sure they are."))
        warnings += self._doubts(confidence, lowest)
        if _overlap(turns):
            warnings.append(warn("speaker_overlap", "Two speakers were heard at the same time."))
        heard = Said(message=message, locale=said.locale, signals={}, attachments=said.attachments)
        return text_event(self.name, heard, signals=signals, warnings=warnings, confidence=confidence)

    def _doubts(self, confidence: float | None, lowest: float | None) -> Iterator[EventWarning]:
        mean_is_low = confidence is not None and confidence < self._mean_below
        token_is_low = lowest is not None and lowest < self._token_below
        if mean_is_low or token_is_low:
            yield warn("asr_low_confidence", "The recognizer is not sure of what it heard.")


def _said_by_vendor(heard: Transcript) -> Said:
    if not heard.text.strip():
        raise ChannelPayloadInvalid.at("/results", "has no transcript")
    vendor = {"name": heard.vendor, "fields": dict(heard.rest)}
    return Said(message=heard.text, signals={"asr": heard.asr, "vendor": vendor})


def _said_by_us(body: Mapping[str, Any], named: Shape) -> Said:
    message = named.text("message")
    if "name" in body:
        named.fault("name", "is not a signal; `caller` says who speaks")
    named.settle()
    signals = {name: value for name, value in body.items() if name not in _NO_SIGNALS}
    return Said(message=message or "", signals=signals)


def _caller(named: Shape, body: Mapping[str, Any], query: Mapping[str, str], terms: Terms) -> str:
    for name in _CALLERS:
        if (found := named.text(name, most=MOST_ADDRESS)) and found.strip():
            return found
    for name in _CALLERS:
        if query.get(name, "").strip():
            return query[name][:MOST_ADDRESS]
    match body.get("metadata"):
        case {"extra": {"caller": str(found)}} if found.strip():
            return found[:MOST_ADDRESS]
    match terms.settings.get("address"):
        case str(found) if found.strip():
            return found
    named.fault("caller", "is missing, and the binding has no address for those who do not say")
    return ""


def _check_count(signals: Mapping[str, Any]) -> None:
    """Before a copy is made: of millions of tokens not even that."""
    asr = signals.get("asr")
    if not isinstance(asr, Mapping):
        return
    for name in ("tokens", "speaker_turns"):
        if isinstance(listed := asr.get(name), list | tuple) and len(listed) > MOST_TOKENS:
            raise ChannelPayloadInvalid.at(f"{SIGNALS}/asr/{name}", f"has more than {MOST_TOKENS} items")


def _tokens(asr: Shape) -> Sequence[tuple[str, float | None]]:
    read = []
    for token in asr.objects("tokens", most=MOST_TOKENS):
        start, end = token.number("start_ms"), token.number("end_ms")
        if start is not None and end is not None and end < start:
            token.fault("end_ms", "lies before its start")
        read.append((token.text("text", required=True) or "", token.number("confidence", most=1)))
    return read


def _turns(asr: Shape, tokens: int) -> Sequence[tuple[float, float, str]]:
    """When each speaker was heard, of those turns that tell."""
    spans = []
    for turn in asr.objects("speaker_turns", most=MOST_TOKENS):
        speaker = turn.label("speaker")
        first, last = (turn.whole(name, most=max(tokens - 1, 0)) for name in ("first_token", "last_token"))
        if first is not None and last is not None and (last < first or tokens == 0):
            turn.fault("last_token", "lies before the first token" if tokens else "there are no tokens")
        start, end = turn.number("start_ms"), turn.number("end_ms")
        if start is not None and end is not None:
            if end < start:
                turn.fault("end_ms", "lies before its start")
            spans.append((start, end, speaker))
    return spans


def _overlap(turns: Sequence[tuple[float, float, str]]) -> bool:
    """Whether somebody begins before somebody else has ended."""
    heard_until, by = -math.inf, ""
    for start, end, speaker in sorted(turns):
        if speaker != by and start < heard_until:
            return True
        heard_until, by = max(heard_until, end), speaker
    return False


def _mean(tokens: Sequence[tuple[str, float]]) -> float:
    """Weighted by length: a long word that was misheard spoils more than a short one."""
    weights = [max(len(text), 1) for text, _ in tokens]
    mean = math.fsum(weight * each for weight, (_, each) in zip(weights, tokens, strict=True)) / sum(weights)
    return round(min(max(mean, 0.0), 1.0), 6)
