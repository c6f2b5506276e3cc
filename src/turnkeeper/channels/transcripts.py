"""What a speech recognizer heard, out of the shapes that common recognizers send.

Facts about the shapes: Deepgram's "Pre-Recorded Audio" and "Live Audio" responses, Google's Speech-to-Text v1
`RecognizeResponse` and `Operation`, Amazon Transcribe's batch output with and without speaker labels.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from turnkeeper.channels.shapes import Shape, below
from turnkeeper.errors import ChannelPayloadInvalid

MOST_TOKENS = 50_000
MOST_RESULTS = 10_000
MOST_ALTERNATIVES = 30
MOST_SECONDS = 10_000_000
_DURATION = re.compile(r"([0-9]{1,8}(?:\.[0-9]{1,9})?)s")
_DECIMAL = re.compile(r"[0-9]{1,8}(?:\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """`confidence` is what the recognizer says of the whole, for when it says nothing of the tokens.

    `alternatives` are what else it may have been, `rest` all that the vendor sent beside the results.
    """

    vendor: str
    text: str
    tokens: Sequence[Mapping[str, Any]] = ()
    final: bool = True
    confidence: float | None = None
    locale: str | None = None
    delivery_id: str | None = None
    alternatives: Sequence[Mapping[str, Any]] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asr(self) -> dict[str, Any]:
        """As the signals of the channel name it."""
        told: dict[str, Any] = {
            "final": self.final,
            "truncated": False,
            "tokens": list(self.tokens),
            "speaker_turns": list(_turns(self.tokens)),
        }
        if self.confidence is not None:
            told["confidence"] = self.confidence
        if self.alternatives:
            told["alternatives"] = list(self.alternatives)
        return told


def read_transcript(body: Mapping[str, Any]) -> Transcript | None:
    """The transcript of a vendor whose shape is known, or None. Raises ChannelPayloadInvalid for a fault in it."""
    results = body.get("results")
    response = body.get("response")
    if isinstance(results, list):
        return _google(body, results, pointer="")
    if isinstance(response, Mapping) and isinstance(response.get("results"), list):
        return _google(body, response["results"], pointer="/response")
    if isinstance(results, Mapping) and "channels" in results:
        return _deepgram(body)
    if isinstance(body.get("channel"), Mapping) and "alternatives" in body["channel"]:
        return _deepgram_live(body)
    if isinstance(results, Mapping) and ("transcripts" in results or "items" in results):
        return _amazon(body)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alternative:
    text: str
    confidence: float | None
    tokens: Sequence[Mapping[str, Any]]

    @property
    def told(self) -> dict[str, Any]:
        return {"text": self.text} | ({} if self.confidence is None else {"confidence": self.confidence})


def _deepgram(body: Mapping[str, Any]) -> Transcript:
    shape = Shape(body, "")
    results = shape.object("results", required=True)
    assert results is not None
    metadata = Shape(body.get("metadata") or {}, "/metadata")
    channels = list(results.objects("channels", most=20, required=True))
    heard = [_deepgram_alternatives(channel, f"channel_{n}") for n, channel in enumerate(channels)]
    locale = next((found for each in channels if (found := each.text("detected_language"))), None)
    request_id = metadata.text("request_id", most=200)
    shape.settle()
    metadata.settle()
    best = [alternatives[0] for alternatives in heard if alternatives]
    several = len(best) > 1
    tokens = _in_order(best, named=several)
    texts = (str(token["text"]) for token in tokens) if several and tokens else (each.text for each in best)
    return Transcript(
        vendor="deepgram",
        text=" ".join(text for text in texts if text.strip()),
        tokens=tokens,
        confidence=_least(each.confidence for each in best),
        locale=locale,
        delivery_id=request_id,
        alternatives=[other.told for alternatives in heard for other in alternatives[1:]],
        rest=_without(body, "results"),
    )


def _deepgram_live(body: Mapping[str, Any]) -> Transcript:
    shape = Shape(body, "")
    channel = shape.object("channel", required=True)
    assert channel is not None
    heard = _deepgram_alternatives(channel, None)
    final = shape.flag("is_final")
    start = shape.number("start", most=MOST_SECONDS)
    metadata = Shape(body.get("metadata") or {}, "/metadata")
    request_id = metadata.text("request_id", most=200)
    shape.settle()
    metadata.settle()
    best = heard[0] if heard else _Alternative(text="", confidence=None, tokens=())
    return Transcript(
        vendor="deepgram",
        text=best.text,
        tokens=best.tokens,
        final=final is not False,
        confidence=best.confidence,
        # One request id stands for a whole stream of results.
        delivery_id=None if request_id is None else f"{request_id}:{_milliseconds(start or 0)}:{final is not False}",
        alternatives=[other.told for other in heard[1:]],
        rest=_without(body, "channel"),
    )


def _deepgram_alternatives(channel: Shape, speaker: str | None) -> Sequence[_Alternative]:
    return _best_first(
        _Alternative(
            text=each.text("transcript") or "",
            confidence=each.number("confidence", most=1),
            tokens=[
                _token(
                    word.text("punctuated_word") or word.text("word", required=True),
                    confidence=word.number("confidence", most=1),
                    start=word.number("start", most=MOST_SECONDS),
                    end=word.number("end", most=MOST_SECONDS),
                    speaker=_speaker(word.whole("speaker", most=10_000)) or speaker,
                )
                for word in each.objects("words", most=MOST_TOKENS)
            ],
        )
        for each in channel.objects("alternatives", most=MOST_ALTERNATIVES)
    )


def _google(body: Mapping[str, Any], results: Sequence[Any], *, pointer: str) -> Transcript:
    shape = Shape({"results": results}, pointer)
    locale: str | None = None
    final = True
    heard: list[Sequence[_Alternative]] = []
    for result in shape.objects("results", most=MOST_RESULTS):
        heard.append(_google_alternatives(result))
        locale = locale or result.text("languageCode", most=64)
        final = final and result.flag("isFinal") is not False
    named = Shape(body, "")
    delivery_id = named.text("requestId", most=200) or named.text("name", most=200)
    shape.settle()
    named.settle()
    best = [alternatives[0] for alternatives in heard if alternatives]
    tokens = [token for each in best for token in each.tokens]
    # With speakers told apart, the last result repeats all words, now with the speaker of each.
    if best and best[-1].tokens and "speaker" in best[-1].tokens[0] and len(best) > 1:
        before = [token for each in best[:-1] for token in each.tokens]
        if not any("speaker" in token for token in before):
            tokens, best = list(best[-1].tokens), best[:-1] if len(best[-1].tokens) >= len(before) else best
    if len(tokens) > MOST_TOKENS:
        raise ChannelPayloadInvalid.at(below(pointer, "results"), f"has more than {MOST_TOKENS} words")
    return Transcript(
        vendor="google",
        text=" ".join(text for each in best if (text := each.text.strip())) or _joined(tokens),
        tokens=tokens,
        final=final,
        confidence=_least(each.confidence for each in best),
        locale=locale,
        delivery_id=delivery_id,
        alternatives=[other.told for alternatives in heard for other in alternatives[1:]],
        rest=_without(body, "results", "response"),
    )


def _google_alternatives(result: Shape) -> Sequence[_Alternative]:
    return _best_first(
        _Alternative(
            text=each.text("transcript") or "",
            # Zero is this vendor's way of saying that it does not say.
            confidence=each.number("confidence", most=1) or None,
            tokens=[
                _token(
                    word.text("word", required=True),
                    confidence=word.number("confidence", most=1) or None,
                    start=_duration(word, "startTime"),
                    end=_duration(word, "endTime"),
                    speaker=word.text("speakerLabel") or _speaker(word.whole("speakerTag", most=10_000) or None),
                )
                for word in each.objects("words", most=MOST_TOKENS)
            ],
        )
        for each in result.objects("alternatives", most=MOST_ALTERNATIVES)
    )


def _amazon(body: Mapping[str, Any]) -> Transcript:
    shape = Shape(body, "")
    results = shape.object("results", required=True)
    assert results is not None
    texts = [each.text("transcript") or "" for each in results.objects("transcripts", most=MOST_RESULTS)]
    tokens: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for item in results.objects("items", most=MOST_TOKENS):
        choices = _best_first(
            _Alternative(text=each.text("content") or "", confidence=_decimal(each, "confidence", most=1), tokens=())
            for each in item.objects("alternatives", most=MOST_ALTERNATIVES)
        )
        if not choices:
            item.fault("alternatives", "is missing")
        elif item.text("type") == "punctuation":
            if tokens:
                tokens[-1] = {**tokens[-1], "text": f"{tokens[-1]['text']}{choices[0].text}"}
        else:
            others += [{"token": len(tokens), **other.told} for other in choices[1:]]
            tokens.append(
                _token(
                    choices[0].text,
                    confidence=choices[0].confidence,
                    start=_decimal(item, "start_time", most=MOST_SECONDS),
                    end=_decimal(item, "end_time", most=MOST_SECONDS),
                    speaker=item.text("speaker_label"),
                )
            )
    tokens = _with_speakers(tokens, results)
    locale = results.text("language_code", most=64)
    delivery_id = shape.text("jobName", most=200)
    shape.settle()
    return Transcript(
        vendor="amazon",
        text=" ".join(text for text in texts if text.strip()) or _joined(tokens),
        tokens=tokens,
        locale=locale,
        delivery_id=delivery_id,
        alternatives=others,
        rest=_without(body, "results"),
    )


def _with_speakers(tokens: list[Mapping[str, Any]], results: Shape) -> list[Mapping[str, Any]]:
    """Older output tells the speaker of a token only in a list beside the tokens, by when it starts."""
    labels = results.object("speaker_labels")
    if labels is None:
        return tokens
    speakers: dict[int, str] = {}
    for segment in labels.objects("segments", most=MOST_TOKENS):
        for item in segment.objects("items", most=MOST_TOKENS):
            start, speaker = _decimal(item, "start_time", most=MOST_SECONDS), item.text("speaker_label")
            if start is not None and speaker is not None:
                speakers[_milliseconds(start)] = speaker
    return [
        token
        if "speaker" in token or token.get("start_ms") not in speakers
        else {**token, "speaker": speakers[token["start_ms"]]}
        for token in tokens
    ]


def _token(
    text: str | None, *, confidence: float | None, start: float | None, end: float | None, speaker: str | None
) -> Mapping[str, Any]:
    if start is not None and end is not None and end < start:
        end = None
    told = {
        "text": text or "",
        "confidence": confidence,
        "start_ms": None if start is None else _milliseconds(start),
        "end_ms": None if end is None else _milliseconds(end),
        "speaker": speaker,
    }
    return {name: value for name, value in told.items() if value is not None}


def _turns(tokens: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Runs of tokens of one speaker."""
    first = 0
    for speaker, spoken in groupby(tokens, key=lambda token: token.get("speaker")):
        run = list(spoken)
        last = first + len(run) - 1
        if speaker is not None:
            turn = {"speaker": speaker, "first_token": first, "last_token": last}
            begins, ends = run[0].get("start_ms"), run[-1].get("end_ms")
            if begins is not None and ends is not None and begins <= ends:
                turn |= {"start_ms": begins, "end_ms": ends}
            yield turn
        first = last + 1


def _in_order(heard: Sequence[_Alternative], *, named: bool) -> list[Mapping[str, Any]]:
    """The words of all channels as they were spoken; a lone channel says nothing about who speaks."""
    tokens = [token for each in heard for token in each.tokens]
    if named:
        return sorted(tokens, key=lambda token: token.get("start_ms", 0))
    return [
        {name: value for name, value in token.items() if name != "speaker" or not value.startswith("channel_")}
        for token in tokens
    ]


def _best_first(alternatives: Iterable[_Alternative]) -> Sequence[_Alternative]:
    return sorted(alternatives, key=lambda each: -1.0 if each.confidence is None else each.confidence, reverse=True)


def _least(confidences: Iterable[float | None]) -> float | None:
    return min((each for each in confidences if each is not None), default=None)


def _joined(tokens: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(str(token["text"]) for token in tokens)


def _speaker(number: int | None) -> str | None:
    return None if number is None else f"speaker_{number}"


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _duration(shape: Shape, name: str) -> float | None:
    """Seconds as this vendor writes them: `1.400s`."""
    written = shape.text(name)
    if written is None:
        return None
    if found := _DURATION.fullmatch(written):
        return float(found[1])
    shape.fault(name, "must be seconds, such as 1.400s")
    return None


def _decimal(shape: Shape, name: str, *, most: float) -> float | None:
    """A number as this vendor writes it: as a text."""
    if not shape.is_text(name):
        return shape.number(name, most=most)
    written = shape.text(name) or ""
    if not _DECIMAL.fullmatch(written) or float(written) > most:
        shape.fault(name, f"must be a number from 0 to {most}")
        return None
    return float(written)


def _without(body: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return {name: value for name, value in body.items() if name not in names}
