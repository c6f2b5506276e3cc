"""The processes that share one PostgreSQL database."""

from collections.abc import Sequence

from turnkeeper.model.node import Node
from turnkeeper.stores import rows
from turnkeeper.stores.postgres.database import PostgresDatabase, sql


class PostgresNodes:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def beat(self, node: Node) -> None:
        await self._database.finish(self._database.write("beat_node", sql.beat_node, rows.node_params(node)))

    async def leave(self, node: Node) -> None:
        await self._database.finish(self._database.write("drop_node", sql.drop_node, {"node": node.id}))

    async def living(self, *, seen_within_seconds: float) -> Sequence[Node]:
        within = {"within_micros": int(seen_within_seconds * 1e6)}
        return [rows.node_of(row) for row in await self._database.read(sql.living_nodes, within)]

    async def gone(self, *, unseen_for_seconds: float) -> Sequence[Node]:
        within = {"within_micros": int(unseen_for_seconds * 1e6)}
        return [rows.node_of(row) for row in await self._database.read(sql.gone_nodes, within)]
