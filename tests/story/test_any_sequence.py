"""Whatever is said in whatever order, a session holds what a model on two pages says, and a reset begins anew.

From every reset on, a twin goes along: a new session that was given the same kept things (agent, pack, title, mounts)
and the params that came with the reset, and that is told the same messages. Until the next reset, every turn must
read the same in both, answer the same and leave the same behind. What may differ is named in `recorder.everything_in`
and in `_told` and `_left`: ids, numbers that only rise, times, and scores of a search, which depend on what else is in
the database.
"""

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import Phase
from hypothesis import settings as with_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from tests.contract.backends import PostgresBackend, SqliteBackend
from tests.scale import SOAKING, rounds
from tests.story.packed import INTENTS, RESPONSES, desk
from tests.story.recorder import Record, Recorder
from turnkeeper import Principal, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.custody.packing import carried_of, dialogue_of
from turnkeeper.intent.collecting import progress
from turnkeeper.intent.walking import schema_at
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.ids import RunId, TenantId, UserId
from turnkeeper.model.pack import UNKNOWN, Pack, PackPin
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.principal import Role
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import RunStatus

T = TypeVar("T")
EXAMPLES, STEPS = rounds(14, 500), rounds(25, 50)
# Shortening a sequence that fails takes minutes here: a soak does it, every other run tells it as it was found.
PHASES = tuple(Phase) if SOAKING else (Phase.generate,)

FILES = desk() | {
    "intents/all.yaml": INTENTS.replace(
        "pattern: voucher, priority: 10}]\n  states: [DETAILS, DONE]",
        "pattern: voucher, priority: 10}]\n  states: [DETAILS, {code: CHECK, confirm: true}, DONE]",
    ),
    "responses/all.yaml": RESPONSES + "- {intent: BUY_VOUCHER, state: DETAILS, agent: true, hint: Ask for it.}\n",
    "knowledge/house.md": "# The house\n\nThe house is known for its garden.\n",
}
TITLE = "A desk"

# --- what is sent

RESETTING = ("reset", "restart", "conversation_reset")
FORCING = ("force_intent_resolution", "resolve_intent", "switch_intent", "switch_flow", "switch_mode")
YES: tuple[Any, ...] = (True, 1, 1.0, "true", "1", " YES ", "On")
NO: tuple[Any, ...] = (False, 0, None, "false", "0", "no ", "OFF")
NEITHER: tuple[Any, ...] = ("maybe", "", 2, -1, 0.5, [], ["yes"], {"reset": True})
BEGINNING_ANEW = ("let us begin again", "start over please")
COMMANDS = ("reset", "restart", "/reset", "/restart", " Reset ", "/RESTART\n")
RESET_CODES = (None, "RESET_SESSION", "RESET_SESSION,START_OVER", "start_over", " , ", "NO_SUCH_INTENT")

BEGINNING = (
    "I want to book a table",
    "I want to book a table on friday",
    "I want to buy a voucher",
    "switch to a voucher",
    "switch to book a table",
    "change flow: a voucher on monday",
)
ANSWERING = (
    "4",
    "friday",
    "on monday please",
    "50",
    "yes",
    "no",
    "change the day to tuesday",
    "forget the day",
    "99",
    "note: by the window",
)
WANDERING = ("what are your hours", "I have feedback", "switch intent: I have feedback", "start over")
UNCLEAR = ("book a voucher", "switch to book a voucher", "hello again")
CHOOSING = ("the second one", "1", "none of these", "the voucher", "Book a table", "qwertz")
OTHERS = ("hello", "qwertz uiop", "please reset", "reset.", "well")

BUSY = (
    (),
    ("switch to book a table", "on friday", "switch to a voucher"),
    ("switch to a voucher", "50", "monday", "switch intent: I have feedback"),
    ("switch to book a voucher",),
    ("switch to book a table", "friday"),
    ("switch to book a table", "4", "friday"),
    ("switch intent: I have feedback",),
)
"""What makes a session hold a form that was left, a question that is open, a lock, and all that an agent keeps."""

texts = st.one_of(*map(st.sampled_from, (BEGINNING, ANSWERING, WANDERING, UNCLEAR, CHOOSING, OTHERS)))
talk_for_the_agent = st.sampled_from(("hello", "I have feedback", "switch intent: I have feedback"))
deeds = st.sets(st.sampled_from(("remember", "prefer")), max_size=2).map(sorted)
names = st.sampled_from(("city", "  city ", "tier", "day", "party_size", "amount", "Reset", "", "  "))
values = st.sampled_from((None, "Narva", "Tartu", 4, 50.5, "friday", ["a", None], {"b": 1}, False))
plain_params = st.dictionaries(names, values, max_size=3)
blanks = st.sampled_from(("{}", "{}", " {} ", "{}\t"))


@st.composite
def control_params(draw: st.DrawFn, allowed: Sequence[str], said: Sequence[Any]) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(allowed), min_size=1, max_size=2, unique=True))
    return {draw(blanks).format(name): draw(st.sampled_from(said)) for name in chosen}


steering = st.one_of(st.just({}), st.just({}), control_params(FORCING, YES), control_params((*RESETTING, *FORCING), NO))
params = st.builds(lambda plain, control: {**plain, **control}, plain_params, steering)
reset_params = st.builds(
    lambda plain, no, yes: {**plain, **no, **yes},
    plain_params,
    st.one_of(st.just({}), control_params(FORCING, (*YES, *NO))),
    control_params(RESETTING, YES),
)
nodes = st.integers(min_value=0, max_value=1)
wishes = st.fixed_dictionaries(
    {},
    optional={
        "STICKY_INTENT": st.sampled_from((None, True, False, "off", "yes")),
        "RESET_INTENT_CODES": st.sampled_from(RESET_CODES),
        "CLARIFICATION_ATTEMPTS": st.sampled_from((None, 1, 3)),
        "CLARIFICATION_TURNS": st.sampled_from((None, 1)),
    },
)


@dataclass(frozen=True, kw_only=True)
class Said:
    """One message, before anybody has read it."""

    text: str
    params: Mapping[str, Any] = field(default_factory=dict)
    deeds: Sequence[str] = ()
    reset: bool = False
    no: int = 0

    @property
    def trigger(self) -> str | None:
        """Why this message resets its session, as far as can be seen from outside."""
        if self.reset:
            return "FLAG"
        said = {name.strip(): value for name, value in self.params.items()}
        for name in RESETTING:
            if any(said.get(name) is each or said.get(name) == each for each in YES):
                return f"INPUT_PARAM:{name}"
        return "USER_TEXT_COMMAND" if self.is_command else None

    @property
    def is_command(self) -> bool:
        return self.text in COMMANDS

    @property
    def kept_params(self) -> dict[str, Any]:
        clean = {name.strip(): value for name, value in self.params.items() if name.strip()}
        return {name: value for name, value in clean.items() if name not in RESETTING + FORCING}

    @property
    def for_twin(self) -> "Said":
        """The same without what resets."""
        rest = {name: value for name, value in self.params.items() if name.strip() not in RESETTING}
        return replace(self, params=rest, reset=False)

    @property
    def asked(self) -> dict[str, Any]:
        metadata = {"deeds": list(self.deeds), "no": self.no}
        return {"params": dict(self.params), "reset": self.reset, "metadata": metadata}


messages = st.builds(Said, text=texts, params=params, deeds=deeds)
failing = st.builds(
    Said,
    text=talk_for_the_agent,
    params=params,
    deeds=st.sampled_from((["fail"], ["fail", "remember", "prefer"], ["spoil", "remember"])),
)
asking = st.builds(
    Said, text=talk_for_the_agent, params=params, deeds=st.sampled_from((["ask"], ["ask", "remember", "prefer"]))
)
any_message = st.one_of(messages, messages, failing)
commands = st.builds(Said, text=st.sampled_from(COMMANDS), params=params, reset=st.booleans())
resets = st.one_of(
    commands,
    st.builds(lambda said: replace(said, reset=True), any_message),
    st.builds(lambda said, given: replace(said, params=given), any_message, reset_params),
    st.builds(Said, text=st.sampled_from(BEGINNING_ANEW), params=params, reset=st.just(True)),
)

# --- what came of it


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A reply, or the code of what went wrong."""

    run_id: RunId | None
    reply: Reply | None = None
    error: str | None = None
    carried: Mapping[str, Any] | None = None

    @property
    def is_waiting(self) -> bool:
        return self.reply is not None and self.reply.status is RunStatus.WAITING

    @property
    def is_over(self) -> bool:
        """It ended without a turn, because there was nothing left to do."""
        return self.reply is not None and self.reply.turn is None and not self.is_waiting

    @property
    def resets(self) -> list[Mapping[str, Any]]:
        stages = self.reply.explanation.stages if self.reply else ()
        done = [stage.data for stage in stages if stage.name == "CONVERSATION_RESET"]
        return [told for told in done if not told.get("earlier")]


def _told(outcome: Outcome) -> Mapping[str, Any]:
    """What a caller is told, without ids and numbers that only rise, and without the reset itself."""
    reply = outcome.reply
    if reply is None:
        return {"error": outcome.error}
    stages = [
        (stage.name, {name: value for name, value in stage.data.items() if name != "asked_at_turn"})
        for stage in reply.explanation.stages
        if stage.name.isupper() and stage.name != "CONVERSATION_RESET" and stage.data.get("reason") != "RESET"
    ]
    units = {name: told if name == "dropped" else len(told) for name, told in reply.units.items()}
    return {
        "text": reply.text,
        "status": reply.status,
        "intent": reply.intent,
        "warnings": reply.warnings,
        "stages": stages,
        "units": units,
    }


def _plainly(reply: Reply) -> Any:
    """What whoever asks again must be told again, as it goes over a wire."""
    return json.loads(json.dumps([reply.text, reply.turn, reply.intent, reply.carried]))


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a session holds, whoever keeps it."""

    dialogue: Dialogue
    epoch: int
    turns: int
    preferences: Preferences
    packs: tuple[PackPin, ...]


def _left(held: Held) -> Mapping[str, Any]:
    """What is left for the next turn; of an open question it counts how long ago it was asked."""
    left = asdict(held.dialogue)
    if left["lock"]:
        del left["lock"]["taken_at"]
    if left["clarification"]:
        left["clarification"]["turn"] -= held.turns
    return left | {"preferences": held.preferences, "packs": held.packs}


@dataclass(eq=False, kw_only=True)
class Line:
    """One conversation with the desk, and who keeps it."""

    principal: Principal
    session_id: str
    is_carried: bool
    carried: Mapping[str, Any] | None = None

    def asked(self, said: Said) -> dict[str, Any]:
        asked = said.asked | {"session_id": self.session_id, "principal": self.principal}
        if self.is_carried:
            asked |= {"custody": "client", "agent": "clerk", "pack": "desk", "carried": self.carried}
        return asked

    async def said(self, keeper: Turnkeeper, text: str, **asked: Any) -> Outcome:
        outcome = await outcome_of(keeper, text, **asked)
        if self.is_carried and outcome.reply is not None:
            self.carried = outcome.reply.carried
        elif self.is_carried and outcome.carried is not None:
            self.carried = outcome.carried
        return outcome

    async def held(self, keeper: Turnkeeper) -> Held:
        if not self.is_carried:
            kept = await keeper.session(self.session_id, principal=self.principal)
            return Held(
                dialogue=kept.dialogue,
                epoch=kept.epoch.number,
                turns=kept.turns,
                preferences=kept.preferences,
                packs=kept.packs,
            )
        if self.carried is None:
            return Held(dialogue=Dialogue(), epoch=1, turns=0, preferences=Preferences(), packs=())
        carried = carried_of(self.carried)
        return Held(
            dialogue=dialogue_of(carried),
            epoch=carried.epoch.number,
            turns=carried.turns,
            preferences=carried.preferences,
            packs=carried.packs,
        )


async def outcome_of(keeper: Turnkeeper, text: str, **asked: Any) -> Outcome:
    try:
        reply = await keeper.chat(text, **asked)
    except TurnkeeperError as error:
        return Outcome(run_id=error.facts.get("run_id"), error=error.code, carried=error.facts.get("carried"))
    return Outcome(run_id=reply.run_id, reply=reply)


@dataclass(eq=False)
class Waiting:
    """A run that has asked, and the run of the twin that asked the same."""

    said: Said
    run_id: RunId
    twin_run_id: RunId | None = None


@dataclass(eq=False)
class Expected:
    """What the session must hold: all of it is written down here when it happens, and read from nowhere."""

    params: dict[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    preferences: Preferences = field(default_factory=Preferences)
    waiting: list[Waiting] = field(default_factory=list)
    past: list[str] = field(default_factory=list)
    turns: int = 0
    resets: list[str] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        return 1 + len(self.resets)

    def begin_anew(self, trigger: str, params: dict[str, Any]) -> None:
        self.past, self.resets = self.past + self.lines, [*self.resets, trigger]
        self.params, self.state, self.lines, self.facts = params, {}, [], []
        self.preferences, self.waiting = Preferences(), []

    def has_params(self, params: Mapping[str, Any], said: Said | None = None) -> bool:
        """A field that a form had, and that was taken back, takes the param of its name along."""
        wanted = {**self.params, **said.kept_params} if said else self.params
        return params == wanted

    def reads(self, said: Said, record: Record) -> None:
        """What a turn can read is what was kept in this epoch."""
        read = record.read
        assert self.has_params(read["params"], said)
        assert read["state"] == self.state
        assert [content for _, content in read["history"]] == self.lines[-20:]
        assert [unit["claim"] for unit in read["newest"]] == self.facts[::-1]
        assert {content for place, content in read["found"] if place == "session"} == set(self.facts)
        assert {content for place, content in read["about"] if place == "session"} == set(self.facts)
        assert {content for place, content in read["guidance"] if place == "session"} == set(self.facts)
        assert (read["preferred"], record.epoch) == (self.preferences, self.epoch)

    def keep(self, said: Said, between: Sequence[str], text: str, record: Record | None) -> None:
        self.turns += 1
        self.params = {**self.params, **said.kept_params}
        self.lines += [said.text, *between, text]
        if record is not None:
            self.state = record.state
            self.facts += [fact for fact in record.facts if fact not in self.facts]
            self.preferences = record.preferences or self.preferences


class House:
    """Two nodes on one database, and the loop that they live in."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.clerk = settings, Recorder()
        self.runner = asyncio.Runner()
        self.keepers = [self.run(self._opened()) for _ in range(2)]
        path = settings.database
        self.backend = PostgresBackend(path) if "://" in path else SqliteBackend(Path(path))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _opened(self) -> Turnkeeper:
        keeper = Turnkeeper.open(settings=self.settings)
        await keeper.__aenter__()
        keeper.agent("clerk")(self.clerk)
        return keeper

    def restart(self, node: int) -> None:
        self.run(self.keepers[node].close())
        self.keepers[node] = self.run(self._opened())

    def close(self) -> None:
        for keeper in self.keepers:
            self.run(keeper.close())
        self.runner.close()


_tenants = count(1)


class AnySequence(RuleBasedStateMachine):
    """One session, everything that may be sent to it, and the twin that began when it was reset last."""

    def __init__(self, house: House, is_carried: bool) -> None:
        super().__init__()
        self._house, self._is_carried = house, is_carried
        tenant = TenantId(f"tenant-{next(_tenants)}")
        self._principal = Principal(tenant=tenant, user=UserId("ada"), role=Role.OWNER)
        self._expected, self._numbers = Expected(), count(1)
        self._sent: tuple[str, dict[str, Any], Outcome] | None = None
        self._codes, self._base, self._is_mounted = frozenset(("RESET_SESSION",)), "", False
        self._twin: Line | None = None
        self._pack, self._line = self._run(self._prepared())

    @property
    def _keeper(self) -> Turnkeeper:
        return self._house.keepers[0]

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._house.run(work)

    async def _prepared(self) -> tuple[Pack, Line]:
        await self._keeper.packs.push(FILES, principal=self._principal)
        return await self._keeper.packs.read("desk", principal=self._principal), await self._new_line()

    async def _new_line(self) -> Line:
        """A new session, given what a reset keeps."""
        if self._is_carried:
            return Line(principal=self._principal, session_id=f"mine-{next(self._numbers)}", is_carried=True)
        session = await self._keeper.create_session(agent="clerk", pack="desk", title=TITLE, principal=self._principal)
        if self._is_mounted:
            await self._keeper.bases.mount(session.id, self._base, principal=self._principal)
        return Line(principal=self._principal, session_id=session.id, is_carried=False)

    async def _new_line_with(self, params: dict[str, Any]) -> Line:
        """Also given the params of the reset; a bare one is the way to hold params before the first message."""
        line = await self._new_line()
        if params:
            given = Said(text="/reset", params=params)
            await line.said(self._keeper, given.text, **line.asked(given))
        return line

    def teardown(self) -> None:
        verdict = self._run(self._keeper.verify_audit(self._principal.tenant))
        assert verdict.holds, verdict.faults
        bodies = self._run(
            self._house.backend.execute(f"SELECT body FROM audit WHERE tenant = '{self._principal.tenant}'")
        )
        entries = [json.loads(body) for (body,) in bodies]
        cleared = [
            (entry["epoch"], entry["trigger"])
            for entry in entries
            if entry["outcome"] == "cleared" and entry["session_id"] == self._line.session_id
        ]
        wanted = list(enumerate(self._expected.resets, start=2))
        if self._is_carried:  # Of a reply that was lost the reset is audited, and the client never heard of it.
            assert set(wanted) <= set(cleared)
        else:
            assert sorted(cleared) == wanted

    # --- messages

    @rule(said=messages, node=nodes)
    def somebody_says(self, said: Said, node: int) -> None:
        self._say(said, node)

    @rule(said=st.builds(Said, text=talk_for_the_agent, params=plain_params, deeds=deeds), node=nodes)
    def somebody_talks_to_the_agent(self, said: Said, node: int) -> None:
        self._say(said, node)

    @rule(said=st.builds(Said, text=st.sampled_from(ANSWERING + BEGINNING), deeds=deeds), node=nodes)
    def somebody_fills_a_form(self, said: Said, node: int) -> None:
        self._say(said, node)

    @rule(said=failing, node=nodes)
    def a_message_fails(self, said: Said, node: int) -> None:
        self._say(said, node)

    @rule(text=texts, given=control_params((*RESETTING, *FORCING), NEITHER), plain=plain_params, reset=st.booleans())
    def a_control_param_says_neither_yes_nor_no(
        self, text: str, given: dict[str, Any], plain: dict[str, Any], reset: bool
    ) -> None:
        said = Said(text=text, params={**plain, **given}, reset=reset)

        outcome = self._run(outcome_of(self._keeper, said.text, **self._line.asked(said)))

        assert outcome.error == "envelope_invalid"

    @precondition(lambda self: not self._is_carried)
    @rule(said=st.lists(st.one_of(any_message, any_message, resets), min_size=2, max_size=3), node=nodes)
    def several_come_at_once(self, said: list[Said], node: int) -> None:
        numbered = [self._numbered(each) for each in said]

        for each, outcome in self._run(self._all_at_once(numbered, node)):
            self._happened(each, outcome, node)

    @precondition(lambda self: self._is_carried)
    @rule(said=st.one_of(any_message, resets), node=nodes)
    def a_reply_is_lost_on_its_way(self, said: Said, node: int) -> None:
        asked = self._line.asked(self._numbered(said))

        self._run(outcome_of(self._house.keepers[node], said.text, **asked))

    @precondition(lambda self: self._sent is not None)
    @rule(node=nodes)
    def the_same_request_comes_again(self, node: int) -> None:
        assert self._sent is not None
        text, asked, before = self._sent

        outcome = self._run(outcome_of(self._house.keepers[node], text, **asked))

        assert (outcome.run_id, outcome.error) == (before.run_id, before.error)
        if outcome.reply and before.reply and not before.is_waiting:
            assert _plainly(outcome.reply) == _plainly(before.reply)

    # --- questions of the agent

    @precondition(lambda self: not self._is_carried)
    @rule(said=asking, reset=st.booleans(), node=nodes)
    def the_agent_asks(self, said: Said, reset: bool, node: int) -> None:
        self._say(replace(said, reset=reset), node)

    @precondition(lambda self: bool(self._expected.waiting))
    @rule(which=st.integers(min_value=0, max_value=5), text=texts, node=nodes)
    def a_question_is_answered(self, which: int, text: str, node: int) -> None:
        run = self._expected.waiting.pop(which % len(self._expected.waiting))
        keeper, records = self._house.keepers[node], self._house.clerk.records[run.run_id]
        walks, asked = len(records), {"answers": run.run_id, "principal": self._principal}

        outcome = self._run(self._line.said(keeper, text, session_id=self._line.session_id, **asked))

        # By now a form may be open, and then the keeper itself says what comes next.
        record = records[-1] if len(records) > walks else None
        assert outcome.reply is not None
        assert outcome.reply.turn is not None
        assert outcome.resets == []
        if record is not None:
            self._expected.reads(run.said, record)
        self._expected.keep(run.said, ["How so?", text], outcome.reply.text, record)
        self._sent = None
        if self._twin is not None and run.twin_run_id is not None:
            asked |= {"answers": run.twin_run_id, "session_id": self._twin.session_id}
            self._agree(outcome, self._run(self._twin.said(keeper, text, **asked)))

    # --- resets

    @rule(before=st.sampled_from(BUSY), said=resets, node=nodes)
    def a_flag_a_param_or_a_text_resets(self, before: Sequence[str], said: Said, node: int) -> None:
        for text in before:
            self._say(Said(text=text, params={"tier": text}, deeds=["remember", "prefer"]), node)
            self.the_session_holds_what_it_must()
        self._say(said, node)

    @rule(
        text=st.sampled_from(BEGINNING_ANEW),
        given=params,
        force=st.sampled_from(FORCING),
        codes=st.sampled_from(RESET_CODES),
        flag=st.booleans(),
        node=nodes,
    )
    def an_intent_resets(
        self, text: str, given: dict[str, Any], force: str, codes: str | None, flag: bool, node: int
    ) -> None:
        self._wants({"RESET_INTENT_CODES": codes})
        code = "START_OVER" if "over" in text else "RESET_SESSION"
        clean = {name: value for name, value in given.items() if name.strip() not in FORCING}
        before = self._run(self._line.held(self._keeper)).dialogue

        outcome = self._say(Said(text=text, params={**clean, force: True}, reset=flag), node)

        if before.clarification is None and not flag:
            assert bool(outcome.resets) == (code in self._codes)

    @precondition(lambda self: not self._is_carried)
    @rule(node=nodes)
    def a_command_of_the_api_resets(self, node: int) -> None:
        keeper, session_id = self._house.keepers[node], self._line.session_id

        reply = self._run(keeper.reset(session_id, principal=self._principal))

        assert reply.turn is None
        self._sent = None
        self._begin_anew("COMMAND", {})

    # --- what else happens

    @rule(wanted=wishes)
    def the_tenant_wants_something_else(self, wanted: Mapping[str, Any]) -> None:
        self._wants(wanted)

    def _wants(self, wanted: Mapping[str, Any]) -> None:
        for key, value in wanted.items():
            self._want(key, value)
        if "RESET_INTENT_CODES" in wanted:
            codes = wanted["RESET_INTENT_CODES"] or ""
            named = frozenset(code.strip().upper() for code in codes.split(",") if code.strip())
            self._codes = named or frozenset(("RESET_SESSION",))

    def _want(self, key: str, value: Any) -> None:
        packs = self._keeper.packs
        if value is None:
            self._run(packs.drop_override("desk", key, principal=self._principal))
        else:
            self._run(packs.override("desk", key, value, principal=self._principal))

    @rule(node=nodes)
    def a_node_is_restarted(self, node: int) -> None:
        self._house.restart(node)

    @precondition(lambda self: not self._is_carried)
    @rule()
    def a_knowledge_base_is_mounted_or_taken_away(self) -> None:
        self._run(self._remount())

    async def _remount(self) -> None:
        bases, principal = self._keeper.bases, self._principal
        if not self._base:
            self._base = (await bases.create("The garden", principal=principal)).id
            await bases.add_source(self._base, "garden.txt", "The garden is known for roses.", principal=principal)
        change = bases.unmount if self._is_mounted else bases.mount
        for line in (self._line, self._twin):
            if line is not None:
                await change(line.session_id, self._base, principal=principal)
        self._is_mounted = not self._is_mounted

    # --- what is always true

    @invariant()
    def the_session_holds_what_it_must(self) -> None:
        self._run(self._holds())

    async def _holds(self) -> None:
        held, expected = await self._line.held(self._keeper), self._expected
        assert (held.epoch, held.turns) == (expected.epoch, expected.turns)
        assert held.preferences == expected.preferences
        assert expected.has_params(held.dialogue.params)
        expected.params = dict(held.dialogue.params)
        assert not {name.strip() for name in held.dialogue.params} & {*RESETTING, *FORCING, ""}
        self._sound(held.dialogue)
        if not self._is_carried:
            await self._kept(expected)
        if self._twin is not None:
            twin = await self._twin.held(self._keeper)
            packs = twin.packs or held.packs  # what a client was never told it does not carry
            assert _left(held) == _left(replace(twin, packs=packs))

    def _sound(self, dialogue: Dialogue) -> None:
        """The lock, the form and the intent fit together, and fit the pack."""
        intent = self._pack.intent(dialogue.intent)
        assert intent is not None or dialogue.intent == UNKNOWN
        assert all(self._pack.intent(code) is not None for code in dialogue.forms)
        assert dialogue.intent not in dialogue.forms
        schema = schema_at(self._pack, intent, dialogue.state) if intent else None
        missing = progress(schema, dialogue.context).missing if schema is not None else ()
        assert (dialogue.lock.missing if dialogue.lock else ()) == missing

    async def _kept(self, expected: Expected) -> None:
        """What was said before a reset stays readable, and what is kept is kept."""
        session = await self._keeper.session(self._line.session_id, principal=self._principal)
        said = await self._keeper.messages(self._line.session_id, principal=self._principal, limit=1000)
        assert [message.content for message in said] == expected.past + expected.lines
        assert sum(message.epoch == expected.epoch for message in said) == len(expected.lines)
        assert (session.title, session.agent) == (TITLE, "clerk")
        assert [mount.id for mount in session.mounts] == ([self._base] if self._is_mounted else [])

    # --- helpers of the rules

    def _numbered(self, said: Said) -> Said:
        return replace(said, no=next(self._numbers))

    def _say(self, said: Said, node: int) -> Outcome:
        said = self._numbered(said)
        asked = self._line.asked(said) | {"request_id": f"request-{said.no}"}

        outcome = self._run(self._line.said(self._house.keepers[node], said.text, **asked))

        self._sent = (said.text, asked, outcome)
        self._happened(said, outcome, node)
        return outcome

    async def _all_at_once(self, said: Sequence[Said], node: int) -> list[tuple[Said, Outcome]]:
        """In the order in which they were taken in, each by another node than the one before."""
        keepers = [self._house.keepers[(node + place) % 2] for place in range(len(said))]
        tickets = await asyncio.gather(
            *(keeper.submit(each.text, **self._line.asked(each)) for keeper, each in zip(keepers, said, strict=True))
        )

        async def awaited(place: int) -> Outcome:
            try:
                reply = await keepers[place].reply_to(tickets[place])
            except TurnkeeperError as error:
                return Outcome(run_id=tickets[place].run.id, error=error.code)
            return Outcome(run_id=reply.run_id, reply=reply)

        outcomes = await asyncio.gather(*map(awaited, range(len(said))))
        self._sent = None
        in_order = sorted(range(len(said)), key=lambda place: tickets[place].run.queue_no)
        return [(said[place], outcomes[place]) for place in in_order]

    def _happened(self, said: Said, outcome: Outcome, node: int) -> None:
        """Write down what must have come of a message, check what its turn could read, and tell the twin."""
        expected = self._expected
        assert outcome.error in (None, "agent_failed")
        assert outcome.run_id is not None
        trigger = said.trigger
        if trigger is None and outcome.resets:
            assert outcome.resets[0]["trigger"] == "INTENT_RESOLVED_RESET"
            assert outcome.resets[0]["matched"] in self._codes
            trigger = "INTENT_RESOLVED_RESET"
        if trigger is not None:
            self._begin_anew(trigger, said.kept_params)
            if outcome.reply is not None:
                assert [(told["trigger"], told["epoch"]) for told in outcome.resets] == [(trigger, expected.epoch)]
        if outcome.is_over:
            assert trigger is not None
            return
        records = self._house.clerk.records.get(outcome.run_id, [])
        record = records[-1] if records else None
        assert (outcome.error is not None) == (record is not None and record.fails)
        if record is not None:
            expected.reads(said, record)
        waiting = Waiting(said, outcome.run_id)
        if outcome.is_waiting:
            expected.waiting.append(waiting)
        elif outcome.reply is not None:
            expected.keep(said, [], outcome.reply.text, record)
        if self._twin is not None:
            waiting.twin_run_id = self._tell_twin(self._twin, said, outcome, node)

    def _begin_anew(self, trigger: str, params: dict[str, Any]) -> None:
        for run in self._expected.waiting:
            ended = self._run(self._keeper.run(run.run_id, principal=self._principal))
            assert ended.status is RunStatus.CANCELLED
        self._expected.begin_anew(trigger, params)
        self._twin = self._run(self._new_line_with(params))

    def _tell_twin(self, twin: Line, said: Said, outcome: Outcome, node: int) -> RunId | None:
        asked = twin.asked(said.for_twin)

        same = self._run(twin.said(self._house.keepers[node], said.text, **asked))

        self._agree(outcome, same)
        return same.run_id

    def _agree(self, outcome: Outcome, same: Outcome) -> None:
        """The caller of the twin is told the same, and its turn could read the same."""
        assert outcome.run_id is not None
        assert same.run_id is not None
        assert _told(same) == _told(outcome)
        records = self._house.clerk.records
        assert [each.read for each in records.get(same.run_id, [])] == [
            each.read for each in records.get(outcome.run_id, [])
        ]


@pytest.mark.parametrize("is_carried", [False, True], ids=["kept by the engine", "kept by the client"])
def test_whatever_happens_a_session_holds_what_it_must_and_is_new_after_a_reset(
    settings: Settings, is_carried: bool
) -> None:
    house = House(settings)

    class Here(AnySequence):
        def __init__(self) -> None:
            super().__init__(house, is_carried)

    try:
        run_machine(Here, settings=with_settings(max_examples=EXAMPLES, stateful_step_count=STEPS, phases=PHASES))
    finally:
        house.close()
