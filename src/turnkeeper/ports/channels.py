"""How a stranger's shape becomes an Event: one adapter for each channel, third parties' own among them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from turnkeeper.model.event import Attachment, Event

ENTRY_POINTS = "turnkeeper.channels"
"""The group of entry points under which a package offers channels: each names a function that returns a Channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said on a channel, apart from how it came: the parts from which an Event is made.

    `signals` are what the channel knows beyond the words, under the names of the channel's page in the manual.
    """

    message: str = ""
    payload: Mapping[str, Any] | None = None
    locale: str | None = None
    signals: Mapping[str, Any] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    user_role: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A request of the outside world as it came: nothing about it is believed yet. Header names are in lower case."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Content that came along and is not kept yet; once it is, it is an Attachment."""

    content: bytes
    media_type: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a binding says about its channel: the secrets that vouch for a request, and settings of the adapter."""

    secrets: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


class SettingKind(StrEnum):
    """What a setting of an adapter is; the value is how that is said to a person."""

    TEXT = "a text"
    FLAG = "true or false"
    COUNT = "a whole number from 0 up"
    SCHEMA = "a JSON Schema"

    def fits(self, value: object) -> bool:
        match self:
            case SettingKind.TEXT:
                return isinstance(value, str) and bool(value.strip())
            case SettingKind.FLAG:
                return isinstance(value, bool)
            case SettingKind.COUNT:
                return isinstance(value, int) and not isinstance(value, bool) and value >= 0
            case SettingKind.SCHEMA:
                return isinstance(value, Mapping | bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTerms:
    """What a binding of a channel can say, so that a slip is found when it is made and not when a message comes.

    `address` is what contacts are written like, for people in the words of `address_is`. `takes_any_secret` is for
    channels whose secrets have another form than that of Standard Webhooks. A channel that has no `known_terms` takes
    whatever a binding says.
    """

    settings: Mapping[str, SettingKind]
    address: re.Pattern[str] | None = None
    address_is: str = ""
    takes_any_secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What an adapter read out of a Raw request.

    `address` is who it says it comes from, as the channel writes it. `delivery_id` names this delivery, so that a
    second one of the same is recognized. `thread` is what a reply needs to end up in the same place, `answers` the
    ids of earlier deliveries that it refers to. `is_vouched` says that a signature proves the sender. Without `said`
    it starts no run: it was a sign of life, such as typing.
    """

    address: str
    said: Said | None
    delivery_id: str | None = None
    parts: tuple[Part, ...] = ()
    thread: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    is_vouched: bool = False


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    def read(self, raw: Raw, terms: Terms, *, now: float) -> Arrival:
        """Raises ChannelPayloadInvalid, WebhookSignatureInvalid or AttachmentTooLarge. Pure: no I/O and no clock."""

    def normalize(self, said: Said) -> Event:
        """The Event, with everything the channel told under `metadata["channel"]` and typed warnings.

        Deterministic. Attachments stay as they are, in their order. Raises ChannelPayloadInvalid.
        """


class Channels(Protocol):
    """The channels that are known in this process."""

    def get(self, name: str) -> Channel | None: ...

    def names(self) -> tuple[str, ...]: ...

    def add(self, channel: Channel) -> None: ...
