"""A versioned, immutable bundle that configures an agent: prompts, intents, schemas, responses, ceilings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.ids import KnowledgeBaseId, TenantId, UserId
from turnkeeper.model.knowledge_base import SourceKind
from turnkeeper.model.pack_config import PackConfig
from turnkeeper.model.safety import SafetyMode

ANY = "ANY"
"""Stands for every intent or every state in a response, and for every state in the name of a schema."""

UNKNOWN = "UNKNOWN"
"""The intent and the state of a session in which none was resolved yet."""

FIRST_STATE = "START"

JsonSchema = Mapping[str, Any]


class Classification(StrEnum):
    PUBLIC = "PUBLIC"
    INTERNAL = "INTERNAL"
    CONFIDENTIAL = "CONFIDENTIAL"
    RESTRICTED = "RESTRICTED"


class RuleKind(StrEnum):
    REGEX = "REGEX"
    CONTAINS = "CONTAINS"
    STARTS_WITH = "STARTS_WITH"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRule:
    """A text that matches means the intent, whatever its case. Of several rules the lowest priority wins."""

    kind: RuleKind
    pattern: str
    priority: int = 100
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentState:
    """Where an intent can stand. One that confirms waits for a yes before it is left."""

    code: str
    confirms: bool = False


class OnLeave(StrEnum):
    """What becomes of the answers of a form that is left before its end: they wait for its return, or they go."""

    KEEP = "keep"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a user may want. Its states are walked in their order; the last one is where it is done.

    `carries` names the fields that come along when the user switches here from another form. No grants, channels or
    locales mean: for everyone, on every channel, in every language.
    """

    code: str
    name: str
    description: str = ""
    examples: tuple[str, ...] = ()
    rules: tuple[IntentRule, ...] = ()
    priority: int = 100
    states: tuple[IntentState, ...] = (IntentState(code=FIRST_STATE),)
    grants: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    locales: tuple[str, ...] = ()
    carries: tuple[str, ...] = ()
    on_leave: OnLeave = OnLeave.KEEP

    def __post_init__(self) -> None:
        if not self.states:
            raise ValueError("an Intent has at least one state")

    @property
    def first_state(self) -> str:
        return self.states[0].code

    def state(self, code: str) -> IntentState | None:
        return next((state for state in self.states if state.code == code), None)

    def state_after(self, code: str) -> IntentState | None:
        """None after the last one."""
        return self._beside(code, 1)

    def state_before(self, code: str) -> IntentState | None:
        """None before the first one."""
        return self._beside(code, -1)

    def _beside(self, code: str, step: int) -> IntentState | None:
        codes = [state.code for state in self.states]
        place = codes.index(code) + step if code in codes else -1
        return self.states[place] if 0 <= place < len(codes) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What is said in a state: this very text, or, where there is none, what the agent makes of the hint."""

    intent: str = ANY
    state: str = ANY
    text: str | None = None
    hint: str | None = None
    locale: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSource:
    """A text in the folder `knowledge`."""

    name: str
    kind: SourceKind
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """`schemas` are named `INTENT` or `INTENT.STATE`. `region` and `timezone` say how phones and dates are read."""

    id: str
    version: str
    title: str = ""
    description: str = ""
    classification: Classification = Classification.INTERNAL
    safety_mode: SafetyMode | None = None
    ceilings: Mapping[str, int] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    locales: tuple[str, ...] = ("en",)
    region: str | None = None
    timezone: str = "UTC"
    config: PackConfig = field(default_factory=PackConfig)
    intents: tuple[Intent, ...] = ()
    schemas: Mapping[str, JsonSchema] = field(default_factory=dict)
    responses: tuple[Response, ...] = ()
    knowledge: tuple[PackSource, ...] = ()

    @property
    def ref(self) -> str:
        return f"{self.id}@{self.version}"

    def intent(self, code: str) -> Intent | None:
        return next((intent for intent in self.intents if intent.code == code), None)

    def schema(self, intent: str, state: str) -> JsonSchema | None:
        """The schema of this state, else the one for every state of the intent."""
        return self.schemas.get(f"{intent}.{state}", self.schemas.get(intent))

    def response(self, intent: str, state: str, locale: str | None = None) -> Response | None:
        """The most special one: of this intent before of any, of this state before of any, in this language first."""
        for wanted in ((intent, state), (intent, ANY), (ANY, state), (ANY, ANY)):
            fitting = [each for each in self.responses if (each.intent, each.state) == wanted]
            for spoken in dict.fromkeys((locale, locale.split("-")[0] if locale else None, None)):
                for each in fitting:
                    if each.locale == spoken:
                        return each
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPin:
    """Which pack a session uses, for good unless it is pinned anew."""

    id: str
    version: str
    hash: str

    @property
    def ref(self) -> str:
        return f"{self.id}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedPack:
    """A pack as a tenant keeps it: its files as they were written, under the hash of all of them.

    `knowledge_base` holds, at this revision, what stands in the folder `knowledge`.
    """

    tenant: TenantId
    id: str
    version: str
    hash: str
    files: Mapping[str, str]
    pushed_by: UserId
    pushed_at: datetime
    knowledge_base: KnowledgeBaseId | None = None
    knowledge_revision: int = 0

    @property
    def pin(self) -> PackPin:
        return PackPin(id=self.id, version=self.version, hash=self.hash)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackOverride:
    """What a tenant wants otherwise than a pack says; one that is switched off counts as if it were not there."""

    key: str
    value: Any
    enabled: bool = True
    changed_by: UserId
    changed_at: datetime


def parse_ref(ref: str) -> tuple[str, str | None] | None:
    """The id and the version of `id@version`, or of `id` alone; None when this cannot name a pack."""
    found = _REF.fullmatch(ref)
    return (found["id"], found["version"]) if found else None


_REF = re.compile(
    r"(?P<id>[A-Za-z0-9][A-Za-z0-9_.:-]{0,127})(?:@(?P<version>(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}))?"
)


def version_key(version: str) -> tuple[int, ...]:
    """Versions in the order in which they are newer: 1.10.0 comes after 1.9.0."""
    return tuple(int(part) for part in version.split("."))
