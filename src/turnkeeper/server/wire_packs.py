"""What travels over HTTP about packs and intents."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from pydantic import ConfigDict, Field, JsonValue, WithJsonSchema

from turnkeeper.keeping.packs import PackPushed
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.pack import Pack, PackOverride, PushedPack
from turnkeeper.model.pack_config import PackConfig
from turnkeeper.model.session import Session
from turnkeeper.server.wire import Inbound, Outbound, PackRef, PlainText, one_of

Base64 = Annotated[
    str,
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "contentEncoding": "base64",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        }
    ),
]


class PackIn(Inbound):
    """A pack as its files by name, or as a zip or tar archive in base64."""

    model_config = ConfigDict(json_schema_extra=one_of("files", "archive"))

    files: dict[PlainText, PlainText] | None = None
    archive: Base64 | None = None


class RepinIn(Inbound):
    pack: PackRef


class OverrideIn(Inbound):
    value: JsonValue
    enabled: bool = True


class PackFaultOut(Outbound):
    file: str
    line: int
    column: int
    pointer: str
    code: str
    message: str


class PackOut(Outbound):
    """A pack that was pushed. `warnings` are told once, to whoever pushes."""

    id: str
    version: str
    ref: str
    hash: str
    pushed_by: str
    pushed_at: datetime
    knowledge_base: str | None
    warnings: list[PackFaultOut] = Field(default_factory=list, exclude_if=lambda told: not told)

    @classmethod
    def of(cls, pushed: PushedPack) -> "PackOut":
        return cls(**_said_of(pushed))

    @classmethod
    def of_push(cls, push: PackPushed) -> "PackOut":
        warnings = [
            PackFaultOut.model_validate({k: v for k, v in each.as_detail().items() if k != "is_warning"})
            for each in push.warnings
        ]
        return cls(**_said_of(push.pushed), warnings=warnings)


class IntentSummaryOut(Outbound):
    code: str
    name: str
    description: str
    states: list[str]
    has_form: bool


class PackTextOut(PackOut):
    """A pack with what it says and the files that say it."""

    title: str
    description: str
    classification: Literal["PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED"]
    intents: list[IntentSummaryOut]
    tools: list[str]
    files: dict[str, str]

    @classmethod
    def whole(cls, pushed: PushedPack, pack: Pack) -> "PackTextOut":
        forms = {name.split(".")[0] for name in pack.schemas}
        return cls(
            **_said_of(pushed),
            title=pack.title,
            description=pack.description,
            classification=pack.classification.value,
            intents=[
                IntentSummaryOut(
                    code=intent.code,
                    name=intent.name,
                    description=intent.description,
                    states=[state.code for state in intent.states],
                    has_form=intent.code in forms,
                )
                for intent in pack.intents
            ],
            tools=list(pack.tools),
            files=dict(pushed.files),
        )


def _said_of(pushed: PushedPack) -> dict[str, Any]:
    return {
        "id": pushed.id,
        "version": pushed.version,
        "ref": pushed.pin.ref,
        "hash": pushed.hash,
        "pushed_by": pushed.pushed_by,
        "pushed_at": pushed.pushed_at,
        "knowledge_base": pushed.knowledge_base,
    }


class OverrideOut(Outbound):
    key: str
    value: JsonValue
    enabled: bool
    changed_by: str
    changed_at: datetime

    @classmethod
    def of(cls, override: PackOverride) -> "OverrideOut":
        return cls(
            key=override.key,
            value=override.value,
            enabled=override.enabled,
            changed_by=override.changed_by,
            changed_at=override.changed_at,
        )


class PackConfigOut(Outbound):
    """What holds now, by key, and which of it the tenant wants otherwise than the pack."""

    config: dict[str, JsonValue]
    overrides: list[OverrideOut]

    @classmethod
    def of(cls, config: PackConfig, overrides: Mapping[str, PackOverride]) -> "PackConfigOut":
        held = {name.upper(): value for name, value in msgspec.json.decode(msgspec.json.encode(config)).items()}
        return cls(config=held, overrides=[OverrideOut.of(each) for each in overrides.values()])


class OptionOut(Outbound):
    code: str
    label: str


class ClarificationOut(Outbound):
    question: str
    reason: str
    options: list[OptionOut]
    turn: int
    attempts: int


class LockOut(Outbound):
    reason: str
    missing: list[str]
    taken_at: datetime


class DialogueOut(Outbound):
    """All that a session holds about its intent; `forms` are those that were left and wait."""

    packs: list[str]
    code: str
    state: str
    fields: dict[str, JsonValue]
    params: dict[str, JsonValue]
    forms: dict[str, dict[str, JsonValue]]
    asked: str | None
    lock: LockOut | None
    clarification: ClarificationOut | None

    @classmethod
    def of(cls, session: Session) -> "DialogueOut":
        held = session.dialogue
        return cls(
            packs=[pin.ref for pin in session.packs],
            code=held.intent,
            state=held.state,
            fields=dict(held.context),
            params=dict(held.params),
            forms={code: dict(form.fields) for code, form in held.forms.items()},
            asked=held.asked,
            lock=_lock_of(held),
            clarification=_clarification_of(held),
        )


def _lock_of(held: Dialogue) -> LockOut | None:
    lock = held.lock
    return LockOut(reason=lock.reason, missing=list(lock.missing), taken_at=lock.taken_at) if lock else None


def _clarification_of(held: Dialogue) -> ClarificationOut | None:
    asked = held.clarification
    if asked is None:
        return None
    return ClarificationOut(
        question=asked.question,
        reason=asked.reason,
        options=[OptionOut(code=option.code, label=option.label) for option in asked.options],
        turn=asked.turn,
        attempts=asked.attempts,
    )
