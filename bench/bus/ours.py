"""`python -m bench.bus.ours [unguarded]`: our relay as it is served, with its guard unless that is left away."""

import asyncio
import sys

from turnkeeper.bus.guard import guarded
from turnkeeper.bus.relay import Relay


async def main(*, is_guarded: bool) -> None:
    async with Relay(port=0, guard=guarded if is_guarded else None) as relay:
        print(f"Listening on {relay.port}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(is_guarded="unguarded" not in sys.argv))
