"""Finding who is to handle an utterance: the stages of the pipeline, asked one after the other."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.bus import carrier
from turnkeeper.bus.awaited import require_async
from turnkeeper.bus.message import copied, is_json
from turnkeeper.bus.plugins import KnownIntent, Match, PipelinePlugin, Utterance, is_pipeline_id
from turnkeeper.bus.rules import STAGES

log = logging.getLogger(__name__)

MOST_FAILURES = 5
REST_SECONDS = 30.0
MOST_TOLD = 100
DENYLISTS = ("blacklisted_pipelines", "blacklisted_skills", "blacklisted_intents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one stage said: `matched`, or why it counts as a decline."""

    stage: str
    said: str
    took_ms: float

    @property
    def told(self) -> str:
        return f"{self.said}, {self.took_ms:.1f} ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The first match that holds, the stage that made it, and what all of them said."""

    match: Match | None = None
    pipeline_id: str | None = None
    asked: tuple[Asked, ...] = ()


@dataclass(slots=True)
class _Stage:
    plugin: PipelinePlugin
    failures: int = 0
    rests_until: float = 0.0


class Pipeline:
    """The plugins that there are. One that fails again and again is left alone for a while."""

    def __init__(self, *, seconds: float, aliases: Callable[[str], Sequence[str]]) -> None:
        self._seconds, self._aliases = seconds, aliases
        self._stages: dict[str, _Stage] = {}
        self._told: set[str] = set()

    def add(self, plugin: PipelinePlugin) -> None:
        """Raises ValueError for an id that is none, or is taken, and for a plugin whose `match` is not async."""
        id = plugin.pipeline_id
        if not is_pipeline_id(id):
            raise ValueError(f"a pipeline id has letters, digits, _ and - only, and {id!r} has others")
        if id in self._stages:
            raise ValueError(f"there is a pipeline plugin {id!r} already")
        require_async(plugin.match, f"`match` of the plugin {id!r}")
        self._stages[id] = _Stage(plugin)

    def plugins(self) -> tuple[PipelinePlugin, ...]:
        return tuple(stage.plugin for stage in self._stages.values())

    def intents(self, id: str) -> Sequence[KnownIntent] | None:
        """What this plugin could match; None if it is not there."""
        stage = self._stages.get(id)
        return None if stage is None else stage.plugin.intents()

    def effective(self, session: Mapping[str, Any], preferred: Sequence[str]) -> tuple[str, ...]:
        """What is wanted, as far as it is there and allowed. Nothing takes the place of what is not."""
        denied = set(session.get("blacklisted_pipelines", ()))
        found: dict[str, None] = {}
        for entry in preferred:
            for id in self._there(entry):
                if not denied & {id, entry}:
                    found[id] = None
        return tuple(found)

    def review(self, pipeline: Sequence[str]) -> None:
        """Tell what is odd about the pipeline of a deployment: entries that nobody has, and plugins left out."""
        named = {id for entry in pipeline for id in self._there(entry)}
        for id in self._stages:
            if id not in named and id not in STAGES:
                shown = {"pipeline_id": id, "pipeline": ",".join(pipeline), "setting": "TURNKEEPER_BUS_PIPELINE"}
                log.warning("pipeline plugin in no pipeline", extra=shown)

    def _there(self, entry: str) -> list[str]:
        """The stages that an entry stands for."""
        ids = self._aliases(entry)
        found = [id for id in ids if id in self._stages]
        if ids and not found:
            self._tell_unknown(entry)
        return found

    def _tell_unknown(self, entry: str) -> None:
        """Once, and of so many only: sessions may name what they like. Without agents there is no such stage."""
        entry = entry[:80]
        if entry not in STAGES and entry not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(entry)
            log.warning("pipeline stage unknown", extra={"entry": entry, "known": ",".join(self._stages)})

    async def find(self, stages: Sequence[str], utterance: Utterance) -> Found:
        asked: list[Asked] = []
        for id in stages:
            began = time.perf_counter()
            match, said = await self._ask(self._stages[id], utterance)
            asked.append(Asked(stage=id, said=said, took_ms=(time.perf_counter() - began) * 1000))
            if match is not None:
                return Found(match=match, pipeline_id=id, asked=tuple(asked))
        return Found(asked=tuple(asked))

    async def _ask(self, stage: _Stage, utterance: Utterance) -> tuple[Match | None, str]:
        if stage.failures >= MOST_FAILURES and time.monotonic() < stage.rests_until:
            return None, "resting"
        own = replace(utterance, session=copied(utterance.session))
        try:
            async with asyncio.timeout(self._seconds):
                match = await stage.plugin.match(own)
        except TimeoutError:
            log.warning("pipeline plugin too slow", extra={"pipeline_id": stage.plugin.pipeline_id})
            return None, "too slow"
        except Exception:
            stage.failures += 1
            stage.rests_until = time.monotonic() + REST_SECONDS
            log.warning("pipeline plugin failed", exc_info=True, extra={"pipeline_id": stage.plugin.pipeline_id})
            return None, "failed"
        stage.failures = 0
        if match is None:
            return None, "declined"
        return _allowed(match, utterance.session)


def _allowed(match: Any, session: Mapping[str, Any]) -> tuple[Match | None, str]:
    if not isinstance(match, Match) or not match.is_sound or not is_json(match.updated_session):
        return None, "malformed"
    if match.skill_id in session.get("blacklisted_skills", ()):
        return None, "skill denied"
    if match.topic in session.get("blacklisted_intents", ()):
        return None, "intent denied"
    return match, "matched"


def updated(match: Match, session: Mapping[str, Any]) -> Mapping[str, Any]:
    """The session that a match wants from here on. No plugin talks a session out of what it is denied."""
    wanted = match.updated_session
    if wanted is None:
        return session
    if carrier.session_id_of(wanted) != carrier.session_id_of(session):
        log.warning("updated session ignored", extra={"skill_id": match.skill_id})
        return session
    kept = {name: session[name] for name in DENYLISTS if name in session}
    return {**{name: value for name, value in wanted.items() if name not in DENYLISTS}, **kept}
