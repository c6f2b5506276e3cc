"""Asking a language model: messages in, text out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class ChatRole(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    role: ChatRole
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """`model` is who really answered. Tokens are None where the model does not count them."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None


class ModelFault(StrEnum):
    TIMED_OUT = "model_timed_out"
    BUSY = "model_busy"
    UNREACHABLE = "model_unreachable"
    BROKEN = "model_broken"
    NOT_ALLOWED = "model_not_allowed"
    REQUEST_REFUSED = "model_request_refused"
    ANSWER_REFUSED = "model_answer_refused"
    ANSWER_UNREADABLE = "model_answer_unreadable"
    ANSWER_TOO_LARGE = "model_answer_too_large"


class ModelFailed(Exception):
    """A model gave no answer that can be used. The words never hold a key, nor what was asked or answered."""

    def __init__(self, fault: ModelFault, detail: str) -> None:
        super().__init__(detail)
        self.code = fault.value
        self.fault = fault
        self.detail = detail


class ChatModel(Protocol):
    async def complete(
        self, messages: Sequence[ChatMessage], *, deadline: datetime, json: bool = False, model: str | None = None
    ) -> Completion:
        """One answer, before the deadline. `json` asks for a JSON object. Raises ModelFailed."""
