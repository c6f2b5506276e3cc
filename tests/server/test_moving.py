"""Every route that reads goes on reading while the database is moved."""

import re
from pathlib import Path

from tests.server.world import World, a_world
from turnkeeper import databases

# An export leaves an entry in the audit, and where that cannot be written there is none.
WRITES_TOO = {"/api/v1/sessions/{session_id}/export", "/api/v1/users/{user_id}/export"}
LASTS = {"/api/v1/sessions/{session_id}/feed", "/api/v1/runs/{run_id}/feed"}


async def statuses(world: World) -> dict[str, int]:
    """What every route that reads answers to the owner of the tenant."""
    found = {}
    for path, operations in world.document["paths"].items():
        if "get" in operations and path not in LASTS:
            url = re.sub(r"{(\w+)}", lambda name: world.ids.get(name[1], "none"), path)
            found[path] = (await world.clients["ada"].get(url)).status_code
    return found


async def test_every_route_that_reads_answers_as_before_while_the_database_is_moved(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        before = await statuses(world)
        await databases.move(str(world.database), str(tmp_path / "elsewhere.db"), grace_seconds=0)
        after = await statuses(world)

    changed = {path: after[path] for path in before if before[path] != after[path]}
    assert list(before.values()).count(200) > 40
    assert changed == dict.fromkeys([*WRITES_TOO, "/readyz"], 503)
