"""One validated inbound request: a message or a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from turnkeeper.model.approval import Decision
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.event import Event
from turnkeeper.model.ids import AgentId, RunId, SessionId, TraceId
from turnkeeper.model.mode import Mode
from turnkeeper.model.outbound import ReplyTo
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.principal import Principal
from turnkeeper.model.session import Custody, Freshness
from turnkeeper.model.trace_context import TraceContext


class Command(StrEnum):
    """What an Envelope may ask for instead of an answer.

    What changes the conversation is a Run and takes its turn in the queue: a reset, and changes of units.
    """

    RESET = "reset"
    IMPORT_UNITS = "import_units"
    EDIT_UNIT = "edit_unit"
    FORGET_UNIT = "forget_unit"
    CREATE = "create"
    PAUSE = "pause"
    RESUME = "resume"
    CHANGE = "change"
    CLOSE = "close"
    CANCEL = "cancel"
    REPIN = "repin"
    PUSH_PACK = "push_pack"
    OVERRIDE_PACK = "override_pack"
    MOUNT = "mount"
    UNMOUNT = "unmount"
    CREATE_BASE = "create_knowledge_base"
    ADD_SOURCE = "add_source"
    REMOVE_SOURCE = "remove_source"
    KEEP_ARTIFACT = "keep_artifact"
    CREATE_MANIFEST = "create_manifest"
    CREATE_POINTER = "create_pointer"
    MOVE_POINTER = "move_pointer"
    DELETE_POINTER = "delete_pointer"
    PUBLISH = "publish"
    COLLECT = "collect"
    DECIDE_APPROVAL = "decide_approval"
    CREATE_BINDING = "create_binding"
    CHANGE_BINDING = "change_binding"
    REMOVE_BINDING = "remove_binding"
    PUT_CONTACT = "put_contact"
    REMOVE_CONTACT = "remove_contact"
    RETRY_DELIVERY = "retry_delivery"
    REBASE = "rebase"
    FORK = "fork"
    SAVE_LAYOUT = "save_layout"
    ERASE = "erase"
    CREATE_LAYER = "create_layer"
    CHANGE_LAYER = "change_layer"
    CREATE_USER = "create_user"
    CHANGE_USER = "change_user"
    PUT_DEFINITION = "put_definition"
    REMOVE_DEFINITION = "remove_definition"
    ROTATE_SEALS = "rotate_seals"
    RETIRE_SEAL = "retire_seal"
    CREATE_KEY = "create_key"
    REVOKE_KEY = "revoke_key"
    LOG_IN = "log_in"
    LOG_OUT = "log_out"
    ADOPT = "adopt"
    RELEASE = "release"

    @property
    def changes_units(self) -> bool:
        return self in (Command.IMPORT_UNITS, Command.EDIT_UNIT, Command.FORGET_UNIT)


class OnMissing(StrEnum):
    """What to do when the session id is unknown or expired."""

    NEW = "new"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What was decided about a message before it was taken in; its name is in capitals, as in an Explanation."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name.isupper():
            raise ValueError(f"the name of a decision is in capitals, not {self.name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """`packs` are those that a new session is pinned to; of one that is pinned they must be the same, and with
    `names_every_pack` all of them. `intent` is what the caller says it wants, None leaves that to the pack. `limits`
    are the most that it wants to spend, by resource. `claims` are what it says of its user and agent.
    `audited` are facts about it for the audit alone, where it is called by its `verb`. `grants` are what is left of
    those of the principal once claims and channel are heard; None means every one.
    An answer to a run that waits for an approval is a `decision` about it. `same_as` is what makes two requests under
    one id the same; None means their whole body.
    """

    principal: Principal
    received_at: datetime
    trace_id: TraceId
    channel: str = "app_chat"
    events: tuple[Event, ...] = ()
    command: Command | None = None
    session_id: SessionId | None = None
    agent: AgentId | None = None
    packs: tuple[str, ...] = ()
    names_every_pack: bool = False
    intent: str | None = None
    mode: Mode = Mode.BATCH
    limits: Mapping[str, float] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    grants: tuple[str, ...] | None = None
    trace: TraceContext | None = None
    reply_to: ReplyTo | None = None
    warnings: tuple[str, ...] = ()
    audited: Mapping[str, Any] = field(default_factory=dict)
    verb: str | None = None
    custody: Custody = Custody.ENGINE
    carried: Mapping[str, Any] | None = None
    answers: RunId | None = None
    decision: Decision | None = None
    reset: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    explicit: Preferences = field(default_factory=Preferences)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    same_as: str | None = None
    double_text: DoubleText | None = None
    on_missing: OnMissing = OnMissing.NEW
    before: tuple[Prior, ...] = ()
    freshness: Freshness = Freshness.ANY

    def __post_init__(self) -> None:
        if bool(self.events) == (self.command is not None):
            raise ValueError("an Envelope carries Events or a command, and never both")
        if self.answers is not None and (self.command is not None or self.session_id is None or self.reset):
            raise ValueError("an answer is a plain message in the session of the waiting run")
        if not self.custody.is_ours and (self.answers is not None or self.double_text is not None):
            raise ValueError("a session that we do not keep has no queue and no waiting runs")
        if self.custody is not Custody.CLIENT and self.carried is not None:
            raise ValueError("only a session in client custody carries its state")
