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
from turnkeeper.cli.say import Flow, complain, harmless, own_command
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.talk import Talk, TalkFailed, talk_with_server

COMMANDS = {
    "/why": "explain the last answer",
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
                if failure.is_fatal:
                    return 1
            self.console.print()
        if self.session_id:
            again = f"Go on later with: {own_command()} chat {self.talk.how} --session {self.session_id}"
            self.console.print(Text(" ".join(again.split()), style="dim"), soft_wrap=True)
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
            case "/session":
                self.console.print(self.session_id or "There is no session yet; it begins with the first message.")
            case "/help":
                for name, meaning in COMMANDS.items():
                    self.console.print(Text.assemble((f"{name:<10}", "bold"), meaning))
            case _:
                self.console.print(Text(f"There is no command {harmless(command)}. /help shows those there are."))

    def _exchange(self, message: str) -> None:
        shown, flow = "", Flow(self.console.width if sys.stdout.isatty() else None)
        # Only the first message says which pack: the session keeps it.
        pack = None if self.session_id else self.pack
        frames = self.talk.say(message, session_id=self.session_id, agent=self.agent, pack=pack, answers=self.asked_by)
        has_ended, run_id, intent = False, None, None
        try:
            for frame in frames:
                data, piece, run_id = frame["data"], "", frame["run_id"]
                match frame["type"]:
                    case "run.accepted" | "run.answered":
                        self._note(frame)
                    case "output.delta":
                        piece = data["text"]
                    case "output.snapshot" | "run.completed":
                        piece = _rest(data.get("text") or "", shown)
                        has_ended = frame["type"] == "run.completed"
                        intent = data.get("intent")
                    case "run.waiting":
                        piece = _rest(data["question"], shown)
                        self.run_id, self.asked_by, has_ended = frame["run_id"], frame["run_id"], True
                    case "run.failed" | "run.cancelled" | "run.timed_out" | "run.abandoned" | "stream.broken":
                        raise TalkFailed(_why_not(frame))
                flow.write(piece)
                shown += piece
        except KeyboardInterrupt:
            if run_id is not None:
                self.talk.cancel(run_id)
            raise TalkFailed("Stopped.") from None
        finally:
            if shown:
                flow.close()
        if intent and sys.stdin.isatty():
            self.console.print(Text(_where_it_stands(intent), style="dim"))
        if not has_ended:
            raise TalkFailed("The answer did not come to its end. Ask again to see whether it is there.")

    def _note(self, frame: Any) -> None:
        """Where the conversation is now, and which run answers."""
        is_new = self.session_id != frame["session_id"]
        if is_new and self.session_id is not None:
            self.console.print(Text(f"Session {self.session_id} cannot be used; this is a new one.", style="yellow"))
        self.session_id, self.run_id, self.asked_by = frame["session_id"], frame["run_id"], None
        if is_new and sys.stdin.isatty():
            self.console.print(Text(f"session {self.session_id}", style="dim"))

    def _explain(self) -> None:
        if self.run_id is None:
            self.console.print("Nothing was answered yet.")
            return
        show(self.talk.explanation(self.run_id), self.console)


def _rest(text: str, shown: str) -> str:
    """What is still to be shown of a text; all of it on a new line when something else was shown before."""
    if text.startswith(shown):
        return text[len(shown) :]
    return f"\n{text}"


def _where_it_stands(intent: Mapping[str, Any]) -> str:
    """What the user wants, as the pack understands it, and what is missing for it."""
    missing = ", ".join(intent["missing"])
    return f"{intent['code']} · {intent['state']}" + (f" · still needs {missing}" if missing else "")


def _why_not(frame: Any) -> str:
    error = frame["data"].get("error")
    if error:
        return f"{error['message']} ({error['code']})"
    return f"The run was {frame['type'].removeprefix('run.').replace('_', ' ')}."
