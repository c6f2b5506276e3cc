"""What may change an utterance on its way through a round, and a reply on its way out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

DEFAULT_PRIORITY = 50


class Hook(StrEnum):
    """Where a transformer stands: it is handed the sound, the words, nothing, the match, the text, the voice."""

    AUDIO = "audio"
    UTTERANCE = "utterance"
    METADATA = "metadata"
    INTENT = "intent"
    DIALOG = "dialog"
    TTS = "tts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """What a transformer made of what it was handed. `context` is the whole context of the message, session and all;
    `lang` is the language in which the words are now, None leaves it."""

    artifact: Any
    context: Mapping[str, Any]
    lang: str | None = None


class Transformer(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def hook(self) -> Hook: ...

    @property
    def priority(self) -> int:
        """Those with a lower one come first."""

    async def transform(self, artifact: Any, context: dict[str, Any], lang: str | None) -> Transformed:
        """Both are its own copies. What it raises, or gives in a wrong shape, counts as nothing changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chained:
    """What is left after a whole chain: `touched_by` are those that ran, `cancelled_by` the one that called it off."""

    artifact: Any
    context: dict[str, Any]
    lang: str | None
    touched_by: Sequence[str] = ()
    cancelled_by: str | None = None
