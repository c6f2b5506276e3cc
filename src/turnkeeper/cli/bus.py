"""Watching a bus in the terminal: who says what, in which session, as it happens."""

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from turnkeeper.bus import topics
from turnkeeper.bus.carrier import DEFAULT, session_id_of
from turnkeeper.bus.link import Link, address_of
from turnkeeper.bus.message import Message
from turnkeeper.cli.local import bus_at
from turnkeeper.cli.say import complain, counting, harmless, own_command
from turnkeeper.errors import BusRefused, BusUnreachable

WIDE = 96
TOPIC, SESSION, UTTERANCE, WHO = 28, 12, 6, 16
OLD_UTTERANCE, OLD_SPEAK = "recognizer_loop:utterance", "speak"
TWIN = "_namespace_compat_twin"

_LIFECYCLE = (topics.MATCHED, topics.START, topics.COMPLETE, topics.HANDLED)
_STYLES = {
    **dict.fromkeys((topics.UTTERANCE, OLD_UTTERANCE), "bold cyan"),
    **dict.fromkeys((topics.SPEAK, OLD_SPEAK), "bold green"),
    **dict.fromkeys((topics.ERROR, topics.FAILED, topics.REJECTED), "bold red"),
    **dict.fromkeys((topics.UNMATCHED, topics.CANCELLED, "complete_intent_failure"), "yellow"),
    **dict.fromkeys((topics.SYNC, topics.UPDATE_DEFAULT), "magenta"),
    **dict.fromkeys(_LIFECYCLE, "blue"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which messages are shown; all of them where nothing is said. An utterance goes by the end of its id, too."""

    session: str | None = None
    topics: Sequence[str] = ()
    utterance: str | None = None

    def fits(self, message: Message) -> bool:
        return (
            (self.session is None or (_session_of(message) or DEFAULT) == self.session)
            and (not self.topics or any(fnmatchcase(message.type, each) for each in self.topics))
            and (self.utterance is None or (message.utterance_id or "").endswith(self.utterance))
        )


def watch(url: str | None, token: str | None, wanted: Wanted, *, as_json: bool) -> int:
    """Show what is said until Ctrl-C."""
    # What is no message is left out here as everywhere; that is no news to whoever watches.
    logging.getLogger("turnkeeper.bus").setLevel(logging.CRITICAL)
    watching = _Watching(wanted, as_json=as_json)
    try:
        asyncio.run(watching.on(bus_at(url), token))
    except KeyboardInterrupt:
        watching.say_how_much()
    except BusRefused as refused:
        return complain(refused.detail, code=1)
    except BrokenPipeError:
        # Whoever reads has seen enough. What is left must not be tried again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError as error:
        return complain(str(error))
    return 0


class _Watching:
    def __init__(self, wanted: Wanted, *, as_json: bool) -> None:
        self._wanted, self._as_json = wanted, as_json
        self._console = Console(highlight=False, soft_wrap=True)
        self._aside = Console(stderr=True, highlight=False, soft_wrap=True)
        self._ended: asyncio.Future[None] | None = None
        self.heard = self.shown = 0

    async def on(self, url: str, token: str | None) -> None:
        """Raises BusRefused."""
        self._ended = asyncio.get_running_loop().create_future()
        async with Link(
            url,
            token=token,
            on_message=self._heard,
            on_open=lambda: self._say(f"Listening on {address_of(url)}. Ctrl-C ends it."),
            on_break=lambda: self._say("The connection is lost; trying again ..."),
        ) as link:
            opening = asyncio.create_task(self._open(link, url))
            try:
                done, _ = await asyncio.wait((opening, self._ended), return_when=asyncio.FIRST_EXCEPTION)
                for each in done:
                    each.result()
            finally:
                opening.cancel()
                await asyncio.gather(opening, return_exceptions=True)

    async def _open(self, link: Link, url: str) -> None:
        with contextlib.suppress(BusUnreachable):
            await link.opened(1.0)
            return
        self._say(f"There is no bus at {address_of(url)} yet; waiting for it. Ctrl-C ends it.")
        self._say(f"Start one with `{own_command()} serve`, or name another with --url.")
        await link.opened()

    def say_how_much(self) -> None:
        heard = counting(self.heard, "message", "messages")
        self._say(f"{heard} heard." if self.heard == self.shown else f"{heard} heard, {self.shown} shown.")

    def _say(self, text: str) -> None:
        self._aside.print(Text(harmless(text), style="dim"))

    def _heard(self, message: Message) -> None:
        self.heard += 1
        if not self._wanted.fits(message):
            return
        self.shown += 1
        try:
            self._show(message, datetime.now(UTC))
        except BrokenPipeError as error:
            assert self._ended is not None
            if not self._ended.done():
                self._ended.set_exception(error)

    def _show(self, message: Message, at: datetime) -> None:
        if self._as_json:
            told = json_of(message, at)
            sys.stdout.write((harmless(told) if sys.stdout.isatty() else told) + "\n")
        else:
            columns = self._console.width if self._console.is_terminal else None
            for line in lines_of(message, at.astimezone(), columns):
                self._console.print(line)
        sys.stdout.flush()


def json_of(message: Message, at: datetime) -> str:
    whole = {"at": at.isoformat(), "type": message.type, "data": message.data, "context": message.context}
    return json.dumps(whole, ensure_ascii=sys.stdout.encoding.lower() != "utf-8")


def lines_of(message: Message, at: datetime, columns: int | None) -> list[Text]:
    """A message for a terminal of this width: one line, or two where it is narrow; None cuts nothing off."""
    session, who = _short(_session_of(message), SESSION), _short(_who(message), WHO)
    utterance, digest = harmless(message.utterance_id or "")[-UTTERANCE:], digest_of(message)
    line = Text()
    if columns is not None and columns < WIDE:
        line.append(f"{at:%H:%M:%S} ", "dim").append(_fit(message.type, columns - 9).rstrip(), style_of(message))
        known = [each for each in (session, utterance, who) if each]
        while known and _is_to_be_copied(message) and 3 + cell_len(" ".join([*known, digest])) > columns:
            known.pop()
        about = " ".join(known)
        told = Text("  ").append(_fit(about, min(cell_len(about), columns - 4)) + " ", "dim")
        told.append(_fit(digest, max(1, columns - cell_len(told.plain))).rstrip())
        return [line, told] if told.plain.strip() else [line]
    line.append(f"{at:%H:%M:%S}.{at.microsecond // 1000:03} ", "dim")
    line.append(message.type, style_of(message)).append(" " * max(2, TOPIC + 2 - len(message.type)))
    line.append(_fit(session or "-", SESSION) + "  ").append(_fit(utterance or "-", UTTERANCE) + "  ", "dim")
    has_room = columns is None or cell_len(line.plain) + WHO + 2 + cell_len(digest) <= columns
    if has_room or not _is_to_be_copied(message):
        line.append(_fit(who or "-", WHO) + "  ", "dim")
    line.append(digest if columns is None else _fit(digest, max(8, columns - cell_len(line.plain))).rstrip())
    line.rstrip()
    return [line]


def _is_to_be_copied(message: Message) -> bool:
    """Whether its gist is of use only as a whole: the id under which a round can be explained."""
    return message.type == topics.HANDLED


def style_of(message: Message) -> str:
    if TWIN in message.context or message.type.startswith("turnkeeper."):
        return "bright_black"
    known = _STYLES.get(message.type)
    if known is not None:
        return known
    return "bold blue" if message.is_dispatch else ""


def digest_of(message: Message) -> str:
    """What it says, on one line."""
    data = message.data
    match message.type:
        case topics.UTTERANCE | "recognizer_loop:utterance" if isinstance(data.get("utterances"), list):
            said = " | ".join(f"“{each}”" for each in data["utterances"])
        case topics.SPEAK | "speak" if "utterance" in data:
            said = f"“{data['utterance']}”" + (" and listens" if data.get("listen") else "")
        case topics.ERROR | topics.FAILED if "exception" in data:
            said = str(data["exception"])
        case topics.MATCHED | topics.START | topics.COMPLETE if "skill_id" in data:
            said = f"{data['skill_id']}:{data.get('intent_name', '')} {_slots(data)}"
        case topics.CANCELLED if "cancel_reason" in data:
            said = f"{data['cancel_reason']} by {data.get('cancel_by', 'somebody')}"
        case topics.SYNC if isinstance(data.get("session"), dict):
            said = "changes " + (", ".join(data["session"]) or "nothing")
        case topics.HANDLED if isinstance(data.get("run_id"), str):
            said = data["run_id"]
        case topics.REJECTED if "msg_type" in data:
            said = f"{data['msg_type']}: {data.get('reason', '')}"
        case _ if message.is_dispatch and "utterance" in data:
            said = f"“{data['utterance']}” {_slots(data)}"
        case _:
            said = json.dumps(data, ensure_ascii=False) if data else ""
    return " ".join(harmless(said).split())


def _slots(data: dict[str, Any]) -> str:
    slots = data.get("slots")
    return " ".join(f"{name}={value}" for name, value in slots.items()) if isinstance(slots, dict) else ""


def _session_of(message: Message) -> str:
    """Its id; nothing for a message that says nothing of a session."""
    session = message.session
    if session is None:
        return ""
    return harmless(session_id_of(session)) if isinstance(session, dict) else "malformed"


def _who(message: Message) -> str:
    """The skill that speaks, else where it came from."""
    source = message.context.get("source")
    return harmless(message.skill_id or (source if isinstance(source, str) else ""))


def _short(text: str, cells: int) -> str:
    """The beginning and the end of an id, which differ."""
    if cell_len(text) <= cells:
        return text
    tail = ""
    for letter in reversed(text):
        if cell_len(letter + tail) >= cells - cells // 2:
            break
        tail = letter + tail
    return set_cell_size(text, cells // 2) + "…" + tail


def _fit(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text)) if cell_len(text) <= cells else set_cell_size(text, cells - 1) + "…"
