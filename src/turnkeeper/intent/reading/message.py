"""A message, and all that is known when it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.intent.form import Field, Form
from turnkeeper.intent.language import Language
from turnkeeper.intent.reading.mentions import Mention
from turnkeeper.intent.reading.said import Piece, Said
from turnkeeper.intent.rendering import value_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """`hints` are words that point to a field without being a name of it.

    `unwanted` are the pieces that are said not to be meant, `corrects` says that something is taken back.

    `asked` is the field that the last question was about; `held` are the answers until now."""

    said: Said
    language: Language
    form: Form
    held: Mapping[str, Any]
    asked: Field | None
    now: datetime
    pieces: tuple[Piece, ...]
    mentions: tuple[Mention, ...]
    hints: tuple[Mention, ...]
    unwanted: tuple[Piece, ...]
    corrects: bool

    def holds(self, field: Field) -> Any:
        return value_at(self.held, field.name)

    def hints_of(self, field: Field) -> tuple[Mention, ...]:
        return tuple(hint for hint in self.hints if hint.field.name == field.name)

    def mentions_of(self, field: Field) -> tuple[Mention, ...]:
        return tuple(mention for mention in self.mentions if mention.field.name == field.name)
