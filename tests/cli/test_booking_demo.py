"""The booking demo, as somebody at a terminal meets it."""

import asyncio
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal, plain
from turnkeeper import Turnkeeper


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.db"

    async def push() -> None:
        async with Turnkeeper.open(path) as keeper:
            await keeper.packs.push_demos()

    asyncio.run(push())
    return path


def said(terminal: Terminal, message: str, *, where: str) -> str:
    """What appears after a message, up to the line that tells where the intent stands."""
    terminal.type(f"{message}\n")
    terminal.until(message)
    appeared = terminal.until(where)
    terminal.until("> ")
    return " ".join(plain(appeared).split())


@pytest.mark.parametrize("columns", [100, 40])
def test_a_form_is_started_left_found_again_corrected_confirmed_and_reset(database: Path, columns: int) -> None:
    with Terminal("chat", "--database", str(database), "--pack", "table-booking", columns=columns) as terminal:
        terminal.until("/help")
        started = said(terminal, "I would like to book a table for four on Friday", where="BOOK_TABLE · DETAILS")
        wandered = said(terminal, "I wonder how the weather will be", where="BOOK_TABLE · DETAILS")
        answered = said(terminal, "half past seven in the evening", where="BOOK_TABLE · DETAILS")
        switched = said(terminal, "please switch to a voucher", where="BUY_VOUCHER · DETAILS")
        back = said(terminal, "switch to booking a table", where="BOOK_TABLE · DETAILS")
        said(terminal, "my name is Ann Lee", where="BOOK_TABLE · DETAILS")
        summed_up = said(terminal, "020 7946 0018", where="BOOK_TABLE · CONFIRM")
        corrected = said(terminal, "change the number of guests to five", where="BOOK_TABLE · CONFIRM")
        done = said(terminal, "yes", where="BOOK_TABLE · DONE")
        terminal.type("reset\n")
        reset = terminal.until("All forgotten.")
        terminal.type("/quit\n")

        assert terminal.ended() == 0

    assert "At what time" in started
    assert "At what time" in wandered
    assert "Under which name" in answered
    assert "voucher" in switched.lower()
    assert "Under which name" in back
    assert "A table for 4 on" in summed_up
    assert "A table for 5 on" in corrected
    assert "booked" in done
    assert "BOOK_TABLE" not in plain(reset).split("reset")[-1]
