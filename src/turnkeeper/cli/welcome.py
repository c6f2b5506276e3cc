"""The first thing that a newcomer sees: what is running, and how to talk to it."""

import os
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from turnkeeper.cli.local import note_of
from turnkeeper.cli.serve import own_command
from turnkeeper.server.version import own_version
from turnkeeper.settings import Settings


def show_welcome(settings: Settings, url: str, token: str | None, *, is_made: bool) -> None:
    console = Console(highlight=False)
    ways = Table.grid(padding=(0, 2))
    ways.add_column(style="bold", no_wrap=True)
    ways.add_column(overflow="fold")
    ways.add_row("Open", Text(f"{url}/#token={token}" if is_made else url, style="cyan"))
    ways.add_row("Talk", Text(_chat_command(settings, url), style="green"))
    ways.add_row("Stop", "Ctrl-C")
    ways.add_row("Keeps", Text(_where(settings), style="dim"))
    console.print()
    title = f"turnkeeper {own_version()} is running"
    console.print(Panel(ways, title=title, title_align="left", border_style="cyan", padding=(1, 2), expand=False))
    console.print("Or over HTTP:", style="bold")
    # Without a frame and without wrapping by us, so that it can be copied as it stands.
    shown = token if is_made else "TOKEN"
    console.print(
        Text(
            f"curl {url}/api/v1/chat \\\n"
            f"  -H 'Authorization: Bearer {shown}' \\\n"
            "  -H 'Content-Type: application/json' \\\n"
            """  -d '{"message": "Hello"}'\n""",
            style="green",
        ),
        soft_wrap=True,
    )


def _chat_command(settings: Settings, url: str) -> str:
    """Short where chat finds this server by itself: from the folder of a database with the usual name."""
    usual = note_of(Settings())
    note = note_of(settings)
    is_found = note is not None and usual is not None and note.absolute() == usual.absolute()
    return f"{own_command()} chat" if is_found else f"TURNKEEPER_TOKEN=... {own_command()} chat --url {url}"


def _where(settings: Settings) -> str:
    if "://" in settings.database:
        return "conversations in PostgreSQL"
    path = Path(settings.database).absolute()
    here = Path(os.getcwd())
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
