"""A house with a bus in it: an orchestrator with small skills, and somebody who speaks to it and hears everything."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bus.wire import WITHIN, Participant
from turnkeeper import Settings, Turnkeeper
from turnkeeper.bus import topics
from turnkeeper.bus.handlers import Dispatch
from turnkeeper.bus.message import Message
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.plugins import KnownIntent, Match, Utterance
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.rules import BusRules
from turnkeeper.bus.transformers import Hook, Transformed
from turnkeeper.bus.wire import Wire
from turnkeeper.ports.agent import AgentTurn

Session = dict[str, Any]

LIFECYCLE = (topics.MATCHED, topics.START, topics.COMPLETE, topics.ERROR)
ABOUT_INTENTS = (topics.intents_of("intents"), f"{topics.intents_of('intents')}.response")
BETWEEN_ORCHESTRATORS = (topics.HELLO, topics.CLAIM, topics.OWN_DEFAULT)

PHRASES = {
    ("echo.skill", "say"): ["say {what}"],
    ("mut.skill", "set"): ["set it"],
    ("mute.skill", "set"): ["mute it"],
    ("sync.skill", "go"): ["sync it"],
    ("boom.skill", "go"): ["boom"],
    ("slow.skill", "go"): ["go slow"],
    ("ask.skill", "go"): ["ask me"],
    ("far.skill", "go"): ["far away"],
    ("leave.skill", "go"): ["leave me"],
}


@dataclass
class Skills:
    """What the small skills of the house wait for and remember."""

    release: asyncio.Event = field(default_factory=asyncio.Event)
    answers: list[str] = field(default_factory=list)
    stashed: list[Session] = field(default_factory=list)

    def install(self, orchestrator: Orchestrator) -> None:
        for (skill_id, intent_name), samples in PHRASES.items():
            orchestrator.intents.add(skill_id, intent_name, lang="en-US", samples=samples)
        handlers: dict[tuple[str, str], Callable[[Dispatch], Any]] = {
            ("echo.skill", "say"): self.say,
            ("mut.skill", "set"): self.set,
            ("mute.skill", "set"): self.mute,
            ("sync.skill", "go"): self.sync,
            ("boom.skill", "go"): self.boom,
            ("slow.skill", "go"): self.slow,
            ("ask.skill", "go"): self.ask,
            ("ask.skill", "response"): self.answered,
            ("leave.skill", "go"): self.leave,
        }
        for (skill_id, intent_name), handler in handlers.items():
            orchestrator.handler(skill_id, intent_name)(handler)

    async def say(self, dispatch: Dispatch) -> None:
        self.stashed.append(dispatch.session)
        await dispatch.speak(dispatch.slots["what"])

    async def set(self, dispatch: Dispatch) -> None:
        dispatch.session["intent_context"] = {"mut.skill:k": {"value": "v"}}
        await dispatch.speak("it is set")

    async def mute(self, dispatch: Dispatch) -> None:
        dispatch.session["intent_context"] = {"mute.skill:k": {"value": "v"}}

    async def sync(self, dispatch: Dispatch) -> None:
        await dispatch.sync({"intent_context": {"sync.skill:k": {"value": "v"}}})

    async def boom(self, dispatch: Dispatch) -> None:
        raise RuntimeError("boom")

    async def slow(self, dispatch: Dispatch) -> None:
        async with asyncio.timeout(WITHIN):
            await self.release.wait()
        await dispatch.speak("at last")

    async def ask(self, dispatch: Dispatch) -> None:
        await dispatch.ask("what is your name?")

    async def answered(self, dispatch: Dispatch) -> None:
        self.answers.append(dispatch.utterance)
        await dispatch.speak(f"hello {dispatch.utterance}")

    async def leave(self, dispatch: Dispatch) -> None:
        mine = [each for each in dispatch.session["active_handlers"] if each["skill_id"] != "leave.skill"]
        dispatch.session["active_handlers"] = mine
        await dispatch.speak("I am gone")


@dataclass
class Plugin:
    """A stage that does with its session what it is told to, and claims or declines."""

    pipeline_id: str
    change: Callable[[Session], None] = lambda session: None
    claims: bool = True
    asked: int = 0

    async def match(self, utterance: Utterance) -> Match | None:
        self.asked += 1
        if not self.claims:
            self.change(utterance.session)
            return None
        wanted = copy.deepcopy(utterance.session)
        self.change(wanted)
        return Match(
            skill_id="echo.skill",
            intent_name="say",
            lang=utterance.lang,
            utterance=utterance.first,
            slots={"what": utterance.first},
            updated_session=wanted,
        )

    def intents(self) -> Sequence[KnownIntent]:
        return ()


@dataclass
class Meta:
    """A transformer that changes the context at its hook."""

    id: str
    change: Callable[[dict[str, Any]], None]
    hook: Hook = Hook.METADATA
    priority: int = 50

    async def transform(self, artifact: Any, context: dict[str, Any], lang: str | None) -> Transformed:
        self.change(context)
        return Transformed(artifact=artifact, context=context)


@dataclass(frozen=True)
class Heard:
    """Everything that was said in one round, from the utterance to its end marker."""

    frames: tuple[Message, ...]

    @property
    def topics(self) -> list[str]:
        return [each.type for each in self.frames]

    def one(self, topic: str) -> Message:
        found = [each for each in self.frames if each.type == topic]
        assert len(found) == 1, f"{topic} was said {len(found)} times among {self.topics}"
        return found[0]

    @property
    def dispatch(self) -> Message:
        (found,) = [each for each in self.frames if ":" in each.type]
        return found

    @property
    def spoken(self) -> list[str]:
        return [each.data["utterance"] for each in self.frames if each.type == topics.SPEAK]

    @property
    def session(self) -> Session:
        """What the end marker carries."""
        found: Session = self.one(topics.HANDLED).context["session"]
        return found


@dataclass
class House:
    keeper: Turnkeeper
    relay: Relay
    orchestrator: Orchestrator
    person: Participant
    skills: Skills

    async def say(self, text: str | list[str], session: Any = None, **more: Any) -> Heard:
        """Say something, and hear all of the round, and whatever else is said until all is quiet."""
        place = self.begin(text, session, **more)
        await self.hears_end(place)
        await self.settled()
        left_out = (*BETWEEN_ORCHESTRATORS, *ABOUT_INTENTS, topics.UPDATE_DEFAULT)
        return Heard(tuple(each for each in self.person.heard[place:] if each.type not in left_out))

    def begin(self, text: str | list[str], session: Any = None, **more: Any) -> int:
        """Say something, and go on; gives where in what was heard it began."""
        context = dict(more.pop("context", {}))
        if session is not None:
            context["session"] = session
        utterances = [text] if isinstance(text, str) else text
        place = len(self.person.heard)
        self.person.link.send(Message(type=topics.UTTERANCE, data={"utterances": utterances, **more}, context=context))
        return place

    async def hears_end(self, place: int, count: int = 1) -> Heard:
        def since() -> list[Message]:
            return self.person.heard[place:]

        await self.person.until(lambda: sum(each.type == topics.HANDLED for each in since()) >= count)
        frames = [each for each in since() if each.type not in BETWEEN_ORCHESTRATORS]
        ends = [number for number, each in enumerate(frames) if each.type == topics.HANDLED]
        return Heard(tuple(frames[: ends[count - 1] + 1]))

    async def hears(self, topic: str, since: int = 0) -> Message:
        await self.person.until(lambda: any(each.type == topic for each in self.person.heard[since:]))
        return next(each for each in self.person.heard[since:] if each.type == topic)

    async def tell(self, type: str, data: dict[str, Any], context: dict[str, Any] | None = None) -> None:
        """Say something that is no utterance, and return when everybody has heard it."""
        self.person.link.send(Message(type=type, data=data, context=context or {}))
        await self.settled()

    async def settled(self) -> None:
        """Return when all that was said until now has been heard by everybody on the bus, and what came of it too."""
        place = len(self.person.heard)
        self.person.link.send(Message(type=topics.intents_of("intents")))
        await self.hears(f"{topics.intents_of('intents')}.response", place)

    @property
    def default(self) -> Session:
        """What the device holds, but for its conversation."""
        held = self.keeper.device.read(self.orchestrator.principal)
        return {name: value for name, value in held.items() if name != "turnkeeper"}


def a_settings(folder: Path, **more: Any) -> Settings:
    return Settings(database=str(folder / "house.db"), default_agent="echo", sweep_seconds=0.1, **more)


async def remember(turn: AgentTurn) -> AsyncIterator[str]:
    """An agent that tells what was said before."""
    before = [message.content for message in turn.history if message.role == "user"]
    turn.state["seen"] = turn.state.get("seen", 0) + 1
    yield f"{turn.number}/{turn.state['seen']}: {' | '.join([*before, turn.text])}"


@asynccontextmanager
async def a_house(
    settings: Settings,
    *,
    relay: Relay | None = None,
    prepare: Callable[[Orchestrator], None] = lambda orchestrator: None,
    rules: BusRules | None = None,
    wire: Wire | None = None,
    agents: dict[str, Any] | None = None,
    packs: dict[str, str] | None = None,
    **more: Any,
) -> AsyncIterator[House]:
    async with _relay_or(relay) as bus, Turnkeeper.open(settings=settings) as keeper:
        for name, function in {"rita": remember, **(agents or {})}.items():
            keeper.agent(name, pack=(packs or {}).get(name))(function)
        if packs:
            await keeper.packs.push_demos()
        rules = rules or BusRules(owner_seconds=0.02, languages=("en-US", "de-DE", "fr-FR"))
        orchestrator = Orchestrator(keeper, agents=["rita", *(agents or {})], rules=rules, wire=wire, **more)
        skills = Skills()
        skills.install(orchestrator)
        prepare(orchestrator)
        async with orchestrator.on(bus.url), Participant(bus.url) as person:
            await orchestrator.joined(WITHIN)
            house = House(keeper, bus, orchestrator, person, skills)
            await house.settled()
            yield house


@asynccontextmanager
async def _relay_or(given: Relay | None) -> AsyncIterator[Relay]:
    if given is not None:
        yield given
        return
    async with Relay(port=0) as relay:
        yield relay


def only(*stages: str) -> list[str]:
    """A pipeline of these and of what recognises phrases."""
    return [*stages, "intents"]
