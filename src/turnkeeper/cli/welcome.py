"""The first thing that a newcomer sees: what is running, and how to talk to it."""

import os
from pathlib import Path

from rich.console import Console
from rich.text import Text

from turnkeeper.cli.local import note_of
from turnkeeper.cli.say import own_command
from turnkeeper.server.version import own_version
from turnkeeper.settings import Settings


def show_welcome(settings: Settings, url: str, token: str | None, *, is_made: bool, bus: str | None) -> None:
    """Without a frame and without wrapping of ours, so that every line can be copied as it stands."""
    console = Console(highlight=False, soft_wrap=True)
    console.print()
    console.print(Text(f"turnkeeper {own_version()} is running", style="bold cyan"))
    console.print()
    ways = {
        "Talk": Text(_chat_command(settings, url, token if is_made else "..."), style="green"),
        "Open": Text(f"{url}/#token={token}" if is_made else url, style="cyan"),
        "Try": Text('"The ferry leaves at six."  then  "When does the ferry leave?"'),
        "A form": Text(_chat_command(settings, url, token if is_made else "...", "table-booking"), style="green"),
        **_bus_commands(settings, bus),
        "Database": Text(_where(settings)),
        "Stop": Text("Ctrl-C"),
    }
    for name, way in ways.items():
        console.print(Text.assemble((f"  {name:<10}", "bold"), way))
    console.print()
    console.print(Text("Or over HTTP:", style="bold"))
    console.print()
    console.print(
        Text(
            f"curl {url}/api/v1/chat \\\n"
            f"  -H 'Authorization: Bearer {token if is_made else 'TOKEN'}' \\\n"
            "  -H 'Content-Type: application/json' \\\n"
            """  -d '{"message": "Hello"}'""",
            style="green",
        )
    )
    console.print()


def _bus_commands(settings: Settings, bus: str | None) -> dict[str, Text]:
    """How to talk and listen on the bus, where there is one."""
    if bus is None:
        return {}
    where = "" if _is_found(settings) else f" --url {bus}"
    return {
        "Bus": Text(f"{own_command()} bus{where}", style="green"),
        "": Text(f'{own_command()} bus say "Good morning"{where}', style="green"),
    }


def _is_found(settings: Settings) -> bool:
    """Whether commands find this server by themselves: from the folder of a database with the usual name."""
    usual, note = note_of(Settings()), note_of(settings)
    return note is not None and usual is not None and note.absolute() == usual.absolute()


def _chat_command(settings: Settings, url: str, token: str | None, pack: str | None = None) -> str:
    by_address = f"TURNKEEPER_TOKEN={token} {own_command()} chat --url {url}"
    command = f"{own_command()} chat" if _is_found(settings) else by_address
    return f"{command} --pack {pack}" if pack else command


def _where(settings: Settings) -> str:
    if "://" in settings.database:
        return "conversations in PostgreSQL"
    path = Path(settings.database).absolute()
    here = Path(os.getcwd())
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
