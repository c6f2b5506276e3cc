"""Which language an utterance is in."""

from typing import Any

import pytest

from turnkeeper.bus.language import resolved, spoken

ENABLED = ("en-US", "pt-PT", "pt-BR", "nl")


@pytest.mark.parametrize(
    ("data", "session", "lang"),
    [
        ({}, {}, "en-US"),
        ({"lang": "nl"}, {"stt_lang": "pt-PT"}, "nl"),
        ({}, {"lang": "nl", "request_lang": "pt-BR", "detected_lang": "en-us", "stt_lang": "pt-PT"}, "pt-PT"),
        ({}, {"lang": "nl", "request_lang": "pt-BR", "detected_lang": "en-us"}, "en-US"),
        ({}, {"lang": "nl", "request_lang": "pt-BR"}, "pt-BR"),
        ({}, {"lang": "nl"}, "nl"),
        ({"lang": "fr-FR"}, {"stt_lang": "tlh", "lang": "nl"}, "nl"),
        ({"lang": ""}, {"lang": "xx"}, "en-US"),
        ({"lang": 5}, {"lang": None}, "en-US"),
        ({"lang": "pt"}, {}, "pt-PT"),
        ({"lang": "en"}, {}, "en-US"),
        ({"lang": "EN_us"}, {}, "en-US"),
        ({"lang": "en-GB"}, {}, "en-US"),
        ({"lang": "nl-BE"}, {"lang": "pt-BR"}, "pt-BR"),
    ],
)
def test_the_first_signal_that_is_spoken_here_decides(data: dict[str, Any], session: dict[str, Any], lang: str) -> None:
    assert resolved(data, session, ENABLED, "en-US") == lang


def test_what_is_not_spoken_is_none() -> None:
    assert spoken("", ENABLED) is None
    assert spoken("p", ENABLED) is None
    assert spoken("pt-AO", ENABLED) is None
    assert spoken("zh-Hant", ("zh-Hans-CN", "zh-Hant-TW")) == "zh-Hant-TW"
