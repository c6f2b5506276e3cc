"""Saying something on a bus from the terminal."""

import asyncio
import json
import logging
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from turnkeeper.bus.carrier import DEFAULT
from turnkeeper.bus.link import address_of
from turnkeeper.cli.local import bus_at
from turnkeeper.cli.say import complain, harmless, own_command, put_out
from turnkeeper.client.bus import Answer, BusClient, End
from turnkeeper.client.carried import FileKeep
from turnkeeper.errors import BusRefused, BusUnreachable

REACH_SECONDS = 3.0
STYLES = {End.COMPLETED: "green", End.UNMATCHED: "yellow", End.CANCELLED: "yellow"}


def say(text: str, url: str | None, token: str | None, *, session: str | None, keep: Path | None, as_json: bool) -> int:
    # What goes wrong is told below, and once.
    logging.getLogger("turnkeeper").addHandler(logging.NullHandler())
    if keep is not None and session in (None, DEFAULT):
        return complain("--keep goes with a --session of its own; `default` is kept by the orchestrator.")
    try:
        place = bus_at(url)
        answer = asyncio.run(_answer(text, place, token, session or DEFAULT, keep))
    except BusUnreachable:
        what_next = f"Start one with `{own_command()} serve`, or name another with --url."
        return complain(f"There is no bus at {address_of(place)}. {what_next}", code=1)
    except BusRefused as refused:
        return complain(refused.detail, code=1)
    except TimeoutError:
        return complain(
            f"Nobody said within a minute that it is handled. See who is on the bus with `{own_command()} bus`; "
            f"`{own_command()} serve --bus-url {address_of(place)}` puts an orchestrator there.",
            code=1,
        )
    except ValueError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return 1
    if as_json:
        put_out(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
    else:
        _show(answer)
    return 0 if answer.end is End.COMPLETED else 1


async def _answer(text: str, url: str, token: str | None, session: str, keep: Path | None) -> Answer:
    kept = None if keep is None else FileKeep(keep)
    async with BusClient(url, session_id=session, keep=kept, token=token, source="turnkeeper-say") as client:
        await client.connected(REACH_SECONDS)
        return await client.say(text)


def _show(answer: Answer) -> None:
    """What was spoken is all there is on standard output."""
    for line in answer.spoken:
        put_out(line + "\n")
    aside = Console(stderr=True, highlight=False, soft_wrap=True)
    by = f" by {answer.skill_id}:{answer.intent_name}" if answer.skill_id else ""
    why = f": {answer.error}" if answer.error else ""
    waits = "; an answer is waited for" if answer.is_question else ""
    ended = Text(answer.end.value.replace("_", " "), STYLES.get(answer.end, "red"))
    aside.print(ended.append(harmless(f"{by}{why}{waits}"), "dim"))
    if answer.run_id:
        aside.print(Text(harmless(f"Why: {own_command()} explain {answer.run_id}"), style="dim"))
