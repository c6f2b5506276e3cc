"""What three recognizers heard, and ours, becomes a text with a confidence."""

from typing import Any

import pytest

from tests.unit.channels.arriving import DATA, NO_TERMS, NOW, codes, posted
from turnkeeper.channels.voice import VoiceChannel
from turnkeeper.errors import ChannelPayloadInvalid
from turnkeeper.model.event import Event
from turnkeeper.ports.channels import Arrival, Raw, Said, Terms

VOICE = VoiceChannel()
CALLER = Terms(settings={"address": "+14155550100"})
ASR = "/input/context/channel_signals/asr"


def heard(file: str) -> tuple[Arrival, Event]:
    body = (DATA / "voice" / f"{file}.json").read_bytes()
    arrival = VOICE.read(Raw(body=body), CALLER, now=NOW)
    assert arrival.said is not None
    return arrival, VOICE.normalize(arrival.said)


def tokens(*spoken: tuple[str, float | None]) -> list[dict[str, Any]]:
    return [{"text": text} | ({} if sure is None else {"confidence": sure}) for text, sure in spoken]


def said(asr: Any, message: str = "hello there") -> Said:
    return Said(message=message, locale="en", signals={"asr": asr})


def turn(first: int, last: int, **more: Any) -> dict[str, Any]:
    return {"speaker": "a", "first_token": first, "last_token": last, **more}


def test_deepgram_the_best_alternative_its_words_and_speakers_are_taken() -> None:
    arrival, event = heard("deepgram_recorded")

    assert (arrival.address, arrival.delivery_id) == ("+14155550100", "7c0e1a52-9d")
    assert event.text == "When is high tide. At six."
    assert event.locale == "en"
    asr = event.channel["asr"]
    assert asr["tokens"][3] == {
        "text": "tide.",
        "confidence": 0.95,
        "start_ms": 770,
        "end_ms": 1200,
        "speaker": "speaker_0",
    }
    assert asr["speaker_turns"] == [
        {"speaker": "speaker_0", "first_token": 0, "last_token": 3, "start_ms": 80, "end_ms": 1200},
        {"speaker": "speaker_1", "first_token": 4, "last_token": 5, "start_ms": 1900, "end_ms": 2600},
    ]
    assert asr["alternatives"] == [{"text": "When is height tide", "confidence": 0.61}]
    assert event.channel["vendor"]["fields"]["metadata"]["duration"] == 3.1
    assert codes(event) == set()


def test_deepgram_an_interim_result_is_not_final() -> None:
    arrival, event = heard("deepgram_live")

    assert (arrival.address, arrival.delivery_id) == ("+14155550101", "live-1:4250:False")
    assert event.text == "two boats"
    assert codes(event) == {"asr_not_final", "asr_low_confidence", "locale_missing"}


def test_deepgram_channels_are_speakers_in_the_order_in_which_they_spoke() -> None:
    _, event = heard("deepgram_two_channels")

    assert event.text == "hello good day again"
    speakers = [each["speaker"] for each in event.channel["asr"]["speaker_turns"]]
    assert speakers == ["channel_0", "channel_1", "channel_0"]
    assert "speaker_overlap" in codes(event)


def test_google_results_follow_each_other() -> None:
    arrival, event = heard("google_recognize")

    assert (event.text, event.locale, arrival.delivery_id) == ("the gauge shows nine metres", "en-gb", "8812345")
    assert [each["start_ms"] for each in event.channel["asr"]["tokens"]] == [0, 200, 700, 1300, 1600]
    assert event.channel["asr"]["min_confidence"] == 0.88
    assert codes(event) == set()


def test_google_speakers_are_in_the_last_result_that_repeats_the_words() -> None:
    _, event = heard("google_operation_speakers")

    assert event.text == "who is there"
    assert [each["speaker"] for each in event.channel["asr"]["tokens"]] == ["speaker_1", "speaker_1", "speaker_2"]
    assert event.confidence == 0.9
    assert codes(event) == {"asr_token_confidence_missing"}


def test_google_without_words_the_confidence_is_that_of_the_whole() -> None:
    _, event = heard("google_without_words")

    assert (event.text, event.confidence) == ("open the lock", 0.7)
    assert codes(event) == {"asr_token_confidence_missing", "asr_low_confidence"}


def test_amazon_numbers_are_texts_and_signs_belong_to_the_word_before() -> None:
    arrival, event = heard("amazon_batch")

    assert (event.text, arrival.delivery_id) == ("Berth nine, please. Of course.", "tide-call-7")
    asr = event.channel["asr"]
    assert [each["text"] for each in asr["tokens"]] == ["Berth", "nine,", "please.", "Of", "course."]
    assert asr["tokens"][1]["confidence"] == 0.64
    assert asr["alternatives"] == [{"token": 1, "text": "mine", "confidence": 0.31}]
    assert [each["speaker"] for each in asr["speaker_turns"]] == ["spk_0", "spk_1"]


def test_amazon_speakers_may_stand_beside_the_words() -> None:
    _, event = heard("amazon_speaker_labels")

    assert [each["speaker"] for each in event.channel["asr"]["tokens"]] == ["spk_0", "spk_1"]


def test_our_own_shape_keeps_what_it_does_not_know() -> None:
    body = {
        "caller": "+14155550100",
        "call_id": "c-9",
        "locale": "en-GB",
        "delivery_id": "d-1",
        "asr": {"tokens": tokens(("hello", 0.9), ("there", 0.9)), "engine": "own"},
        "line": "trunk-2",
    }

    arrival = VOICE.read(posted(body), NO_TERMS, now=NOW)

    assert (arrival.address, arrival.delivery_id, arrival.thread) == ("+14155550100", "d-1", {"call_id": "c-9"})
    assert arrival.said is not None
    event = VOICE.normalize(arrival.said)
    assert (event.text, event.locale) == ("hello there", "en-GB")
    assert (event.channel["line"], event.channel["asr"]["engine"]) == ("trunk-2", "own")


def test_who_calls_may_stand_in_the_query() -> None:
    raw = posted({"message": "hi", "asr": {}}, query={"from": "+4930123", "call_id": "c-1", "locale": "de"})

    arrival = VOICE.read(raw, CALLER, now=NOW)

    assert (arrival.address, arrival.thread) == ("+4930123", {"call_id": "c-1"})


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"caller": "x"}, "/asr"),
        ({"message": "hi"}, "/caller"),
        ({"caller": "x", "asr": {"tokens": []}}, "/message"),
        ({"caller": "x", "asr": {"tokens": tokens(("a", 1.5))}}, "/asr/tokens/0/confidence"),
        ({"caller": "x", "results": []}, "/results"),
        (
            {"caller": "x", "results": {"channels": [{"alternatives": [{"transcript": 7}]}]}},
            "/results/channels/0/alternatives/0/transcript",
        ),
        (
            {"caller": "x", "results": [{"alternatives": [{"words": [{"word": "a", "startTime": "soon"}]}]}]},
            "/results/0/alternatives/0/words/0/startTime",
        ),
        (
            {"caller": "x", "results": {"items": [{"alternatives": [{"content": "a", "confidence": "2"}]}]}},
            "/results/items/0/alternatives/0/confidence",
        ),
        ({"caller": "x", "results": {"items": [{}]}}, "/results/items/0/alternatives"),
        ({"caller": "x", "results": {"channels": []}}, "/results"),
    ],
)
def test_each_fault_of_a_body_is_named_by_its_pointer(body: object, pointer: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        VOICE.read(posted(body), NO_TERMS, now=NOW)

    assert refused.value.details[0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("asr", "pointer"),
    [
        ("words", ASR),
        ({"tokens": {}}, f"{ASR}/tokens"),
        ({"tokens": [{"confidence": 0.5}]}, f"{ASR}/tokens/0/text"),
        ({"tokens": tokens(("a", -0.1))}, f"{ASR}/tokens/0/confidence"),
        ({"tokens": tokens(("a", True))}, f"{ASR}/tokens/0/confidence"),
        ({"tokens": [{"text": "a", "start_ms": 5, "end_ms": 4}]}, f"{ASR}/tokens/0/end_ms"),
        ({"tokens": tokens(("a", 1)), "speaker_turns": [turn(0, 1)]}, f"{ASR}/speaker_turns/0/last_token"),
        ({"tokens": tokens(("a", 1), ("b", 1)), "speaker_turns": [turn(1, 0)]}, f"{ASR}/speaker_turns/0/last_token"),
        ({"speaker_turns": [turn(0, 0)]}, f"{ASR}/speaker_turns/0/last_token"),
        (
            {"tokens": tokens(("a", 1)), "speaker_turns": [turn(0, 0, start_ms=2, end_ms=1)]},
            f"{ASR}/speaker_turns/0/end_ms",
        ),
        ({"final": "yes"}, f"{ASR}/final"),
        ({"truncated": 1}, f"{ASR}/truncated"),
        ({"tokens": [object()] * 50_001}, f"{ASR}/tokens"),
    ],
)
def test_a_signal_of_the_wrong_shape_is_named(asr: Any, pointer: str) -> None:
    with pytest.raises(ChannelPayloadInvalid) as refused:
        VOICE.normalize(said(asr))

    assert refused.value.details[0]["pointer"] == pointer


def test_the_mean_weighs_long_words_more() -> None:
    event = VOICE.normalize(said({"tokens": tokens(("a", 1.0), ("long", 0.9), ("unknown", None))}))

    assert event.confidence == pytest.approx((1 * 1.0 + 4 * 0.9) / 5)
    assert codes(event) == {"asr_token_confidence_missing"}


@pytest.mark.parametrize(
    ("spoken", "doubt"),
    [
        ([0.85, 0.85], False),
        ([0.84, 0.85], True),
        ([1.0, 0.60], True),
        ([1.0, 1.0, 1.0, 0.60], False),
        ([1.0] * 9 + [0.59], True),
    ],
)
def test_a_low_mean_or_a_low_token_is_a_doubt(spoken: list[float], doubt: bool) -> None:
    event = VOICE.normalize(said({"tokens": tokens(*(("word", each) for each in spoken))}))

    assert ("asr_low_confidence" in codes(event)) == doubt


def test_where_doubt_begins_can_be_chosen() -> None:
    patient = VoiceChannel(mean_below=0.3, token_below=0.1)

    assert codes(patient.normalize(said({"tokens": tokens(("word", 0.31))}))) == set()


def test_a_message_without_signals_is_taken_with_a_warning() -> None:
    event = VOICE.normalize(Said(message="hello", locale="en"))

    assert (event.text, event.confidence, codes(event)) == ("hello", None, {"asr_token_confidence_missing"})


@pytest.mark.parametrize(
    ("spans", "overlap"),
    [
        ([("a", 0, 10), ("b", 10, 20)], False),
        ([("a", 0, 11), ("b", 10, 20)], True),
        ([("a", 0, 100), ("a", 10, 20), ("b", 50, 60)], True),
        ([("a", 0, 10), ("a", 5, 20)], False),
        ([("b", 30, 40), ("a", 0, 30)], False),
    ],
)
def test_speakers_at_the_same_time_are_told(spans: list[tuple[str, int, int]], overlap: bool) -> None:
    turns = [
        {"speaker": who, "start_ms": start, "end_ms": end, "first_token": 0, "last_token": 0}
        for who, start, end in spans
    ]

    event = VOICE.normalize(said({"tokens": tokens(("a", 1)), "speaker_turns": turns}))

    assert ("speaker_overlap" in codes(event)) == overlap
