"""The processes that share one SQLite file."""

from collections.abc import Sequence

from turnkeeper.model.node import Node
from turnkeeper.stores import rows
from turnkeeper.stores.sqlite.database import SqliteDatabase, sql


class SqliteNodes:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def beat(self, node: Node) -> None:
        params = rows.node_params(node) | {"clock": self._database.clock()}
        await self._database.write("beat_node", lambda tx: tx.execute(sql.beat_node, params))

    async def leave(self, node: Node) -> None:
        await self._database.write("drop_node", lambda tx: tx.execute(sql.drop_node, {"node": node.id}))

    async def living(self, *, seen_within_seconds: float) -> Sequence[Node]:
        since = self._database.clock() - int(seen_within_seconds * 1e6)
        return [rows.node_of(row) for row in self._database.read(sql.living_nodes, {"since": since})]

    async def gone(self, *, unseen_for_seconds: float) -> Sequence[Node]:
        since = self._database.clock() - int(unseen_for_seconds * 1e6)
        return [rows.node_of(row) for row in self._database.read(sql.gone_nodes, {"since": since})]
