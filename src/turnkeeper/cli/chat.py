"""Talking in the terminal, or through a pipe: one message a line, answers on standard output."""

import contextlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from turnkeeper.cli.explain import show
from turnkeeper.cli.hearing import Hearing, why_not
from turnkeeper.cli.say import complain, counting, harmless, own_command
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.tables import facts, table
from turnkeeper.cli.talk import Talk, TalkFailed, Told, talk_with_server
from turnkeeper.cli.units_known import unit_row

COMMANDS = {
    "/why": "explain the last answer",
    "/units": "show what this session knows",
    "/intent": "show what you want, as it is understood",
    "/reset": "start afresh",
    "/session": "show the session id",
    "/help": "show this list",
    "/quit": "leave",
}


def chat(
    *,
    url: str | None,
    token: str | None,
    database: str | None,
    session_id: str | None,
    agent: str | None,
    pack: str | None,
) -> int:
    if url is not None and database is not None:
        return complain("Give --url to talk to a server, or --database to talk without one, but not both.")
    try:
        talk = _talk(url, token, database)
    except ValueError as error:
        return complain(str(error))
    console = Console(highlight=False, stderr=not sys.stdout.isatty())
    try:
        with talk:
            if pack is not None and session_id is None:
                talk.check_pack(pack)
            parley = Parley(talk, console, session_id=session_id, agent=agent, pack=pack)
            return parley.by_hand() if sys.stdin.isatty() else parley.through_a_pipe()
    except TalkFailed as failure:
        return complain(str(failure), code=1)


def _talk(url: str | None, token: str | None, database: str | None) -> Talk:
    if database is not None:
        from turnkeeper.cli.embedded_talk import EmbeddedTalk
        from turnkeeper.keeper import Turnkeeper

        return EmbeddedTalk(Turnkeeper(own_settings(database=database)))
    return talk_with_server(url, token)


class RunFailed(TalkFailed):
    """A run ended without an answer, and can be asked why."""


@dataclass
class Parley:
    """One sitting: what was said last, and who is asked next."""

    talk: Talk
    console: Console
    session_id: str | None
    agent: str | None
    pack: str | None = None
    run_id: str | None = None
    asked_by: str | None = None
    failures: int = 0

    def by_hand(self) -> int:
        """For a person at a terminal."""
        self._greet()
        for line in self._lines():
            command = line.lower()
            if command == "/quit":
                break
            self.console.print()
            try:
                if re.fullmatch(r"/\w+", command):
                    self._obey(command)
                else:
                    self._exchange(line)
            except TalkFailed as failure:
                self.console.print(Text(harmless(str(failure)), style="red"))
                if isinstance(failure, RunFailed):
                    self.console.print(Text("/why shows what happened.", style="dim"))
                if failure.is_fatal:
                    return 1
            self.console.print()
        if self.session_id:
            again = self._again("chat", f"--session {self.session_id}")
            self.console.print(Text(f"Go on later with: {again}", style="dim"), soft_wrap=True)
        return 0

    def through_a_pipe(self) -> int:
        """For a program: every line is a message, every answer a line or more; what else there is to say goes aside."""
        for line in sys.stdin:
            message = line.rstrip("\r\n")
            if not message.strip():
                continue
            if message.lower() == "/quit":
                break
            try:
                self._obey(message.lower()) if message.lower() in COMMANDS else self._exchange(message)
            except TalkFailed as failure:
                self.failures += 1
                complain(str(failure))
                if isinstance(failure, RunFailed):
                    print(f"See why with: {self._again('explain', str(self.run_id))}", file=sys.stderr)
                if failure.is_fatal:
                    return 1
        if self.session_id:
            print(f"session {self.session_id}", file=sys.stderr)
        return 1 if self.failures else 0

    def _greet(self) -> None:
        greeting = Text.assemble(("turnkeeper ", "bold"), (harmless(self.talk.where), "cyan"))
        self.console.print(greeting)
        if self.session_id:
            self.console.print(Text(f"session {self.session_id}", style="dim"))
        self.console.print(Text("Type a message, or /help.", style="dim"))
        self.console.print()

    def _lines(self) -> Iterator[str]:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # gives input() its history and editing
        while True:
            try:
                line = input(self._prompt()).strip()
            except (EOFError, KeyboardInterrupt):
                self.console.print()
                return
            if line:
                yield line

    def _prompt(self) -> str:
        sign = "? " if self.asked_by else "> "
        # Between these two signs stands what takes no room on the line.
        return f"\x01\x1b[1;36m\x02{sign}\x01\x1b[0m\x02" if self.console.color_system else sign

    def _obey(self, command: str) -> None:
        match command:
            case "/reset":
                text = self.talk.reset(self.session_id) if self.session_id else "There is nothing to forget yet."
                self.run_id = self.asked_by = None
                self.console.print(Text(harmless(text), style="dim"))
            case "/why":
                self._explain()
            case "/units":
                self._show_units()
            case "/intent":
                self._show_intent()
            case "/session":
                self.console.print(self.session_id or "There is no session yet; it begins with the first message.")
            case "/help":
                for name, meaning in COMMANDS.items():
                    self.console.print(Text.assemble((f"{name:<10}", "bold"), meaning))
            case _:
                self.console.print(Text(f"There is no command {harmless(command)}. /help shows those there are."))

    def _exchange(self, message: str) -> None:
        hearing = Hearing(self.console.width if sys.stdout.isatty() else None)
        # Only the first message says which pack: the session keeps it.
        pack = None if self.session_id else self.pack
        frames = self.talk.say(message, session_id=self.session_id, agent=self.agent, pack=pack, answers=self.asked_by)
        run_id: str | None = None
        try:
            for frame in frames:
                run_id = frame["run_id"]
                if frame["type"] in ("run.accepted", "run.answered"):
                    self._note(frame)
                hearing.hear(frame)
        except KeyboardInterrupt:
            if run_id is not None:
                self.talk.cancel(run_id)
            raise TalkFailed("Stopped.") from None
        finally:
            hearing.close()
        end = hearing.end
        if end is None or hearing.has_failed:
            raise RunFailed(why_not(end)) if end else TalkFailed(why_not(end))
        if end["type"] == "run.waiting":
            self.run_id = self.asked_by = run_id
        if sys.stdin.isatty():
            self._show_aside(end)

    def _show_aside(self, end: Told) -> None:
        """What there is to know about an answer beside its words, in a line that does not get in the way."""
        if end["type"] == "run.waiting":
            self.console.print(Text("It asks back; your next message is the answer.", style="yellow"))
            return
        parts = [_where_it_stands(intent)] if (intent := end["data"].get("intent")) else []
        warnings: list[str] = []
        # Whoever may not read explanations talks without them.
        with contextlib.suppress(TalkFailed):
            explained = self.talk.explanation(end["run_id"])
            parts += _what_it_took(explained)
            warnings = explained["warnings"]
        if parts:
            self.console.print(Text(harmless(" · ".join(parts)), style="dim"))
        for warning in warnings:
            self.console.print(Text(f"warning: {harmless(warning)}", style="yellow"))

    def _again(self, command: str, about: str) -> str:
        """The command line that leads here again."""
        return " ".join(f"{own_command()} {command} {self.talk.how} {about}".split())

    def _show_units(self) -> None:
        rows = [] if self.session_id is None else [unit_row(kept) for kept in self.talk.units(self.session_id)]
        self._put(table(rows, self.console.width) or "Nothing is known yet. Tell it a fact.\n")

    def _show_intent(self) -> None:
        held = None if self.session_id is None else self.talk.intent(self.session_id)
        if held is None or not held["packs"]:
            self._put("No pack is used here. Begin with one: turnkeeper chat --pack table-booking\n")
        else:
            self._put(facts(_intent_facts(held), self.console.width))

    def _put(self, text: str) -> None:
        self.console.print(Text(harmless(text)), end="", soft_wrap=True)

    def _note(self, frame: Any) -> None:
        """Where the conversation is now, and which run answers."""
        is_new = self.session_id != frame["session_id"]
        if is_new and self.session_id is not None:
            self.console.print(Text(f"Session {self.session_id} cannot be used; this is a new one.", style="yellow"))
        self.session_id, self.run_id, self.asked_by = frame["session_id"], frame["run_id"], None
        if is_new and sys.stdin.isatty():
            agent = frame["data"].get("agent")
            told = f"session {self.session_id}" + (f" · agent {harmless(agent)}" if agent else "")
            self.console.print(Text(told, style="dim"))

    def _explain(self) -> None:
        if self.run_id is None:
            self.console.print("Nothing was answered yet.")
            return
        show(self.talk.explanation(self.run_id), self.console)


def _where_it_stands(intent: Mapping[str, Any]) -> str:
    """What the user wants, as the pack understands it, and what is missing for it."""
    missing = ", ".join(intent["missing"])
    return f"{intent['code']} · {intent['state']}" + (f" · still needs {missing}" if missing else "")


def _what_it_took(explained: Told) -> Iterator[str]:
    """How many units were learned, replaced or used for an answer."""
    words = {"added": "learned", "superseded": "replaced"}
    for what, which in explained["units"].items():
        yield f"{counting(len(which), 'unit', 'units')} {words.get(what, what.replace('_', ' '))}"
    sources = (explained["document"] or {}).get("sources")
    if isinstance(sources, list) and sources:
        yield f"{counting(len(sources), 'unit', 'units')} used"


def _intent_facts(held: Told) -> Mapping[str, object]:
    lock = held["lock"]
    said = {**held["params"], **held["fields"]}
    return {
        "pack": ", ".join(held["packs"]),
        "intent": held["code"],
        "state": held["state"],
        "known": "\n".join(f"{name} = {value}" for name, value in said.items()),
        "missing": ", ".join(lock["missing"]) if lock else "",
        "asked for": held["asked"],
    }
