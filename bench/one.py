"""Measures one contender in this process, one scenario or a few after each other, and prints the numbers as JSON."""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

from bench.contenders import ENTRIES
from bench.scenarios import Task, measure
from bench.work import Place


def task_of(asked: dict[str, Any]) -> Task:
    place = asked["place"]
    return Task(
        scenario=asked["scenario"],
        contender=ENTRIES[asked["contender"]],
        place=Place(folder=Path(place["folder"]), dsn=place["dsn"], quiet=place["quiet"]),
        against=tuple(ENTRIES[name] for name in asked["against"]),
        given=asked["given"],
    )


async def main() -> None:
    logging.disable()
    print(json.dumps([await measure(task_of(asked)) for asked in json.loads(sys.argv[1])]))


if __name__ == "__main__":
    asyncio.run(main())
