"""What a store promises about the processes that share it."""

from tests.contract.builders import AGENT, NODE, OTHER_AGENT, OTHER_NODE
from turnkeeper.model.node import Node
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON


def a_node(**changes: object) -> Node:
    return Node(**({"id": NODE, "started_at": NOON, "seen_at": NOON, "agents": frozenset({AGENT})} | changes))  # type: ignore[arg-type]


async def test_a_node_that_was_heard_of_lately_lives(store: Store) -> None:
    await store.nodes.beat(a_node())
    await store.nodes.beat(a_node(id=OTHER_NODE, agents=frozenset()))

    living = await store.nodes.living(seen_within_seconds=60)

    assert [(node.id, node.agents) for node in living] == [(NODE, {AGENT}), (OTHER_NODE, frozenset())]


async def test_a_node_that_was_not_heard_of_for_long_does_not_live(store: Store) -> None:
    await store.nodes.beat(a_node())

    assert await store.nodes.living(seen_within_seconds=-1) == []


async def test_a_beat_says_which_agents_a_node_has_now(store: Store) -> None:
    await store.nodes.beat(a_node())

    await store.nodes.beat(a_node(agents=frozenset({AGENT, OTHER_AGENT})))

    (node,) = await store.nodes.living(seen_within_seconds=60)
    assert node.agents == {AGENT, OTHER_AGENT}


async def test_a_node_that_left_is_gone(store: Store) -> None:
    await store.nodes.beat(a_node())

    await store.nodes.leave(a_node())

    assert await store.nodes.living(seen_within_seconds=60) == []


async def test_a_node_that_was_not_heard_of_and_did_not_leave_is_gone(store: Store) -> None:
    await store.nodes.beat(a_node())

    assert await store.nodes.gone(unseen_for_seconds=60) == []
    (gone,) = await store.nodes.gone(unseen_for_seconds=-1)
    assert gone.id == NODE
    await store.nodes.leave(gone)
    assert await store.nodes.gone(unseen_for_seconds=-1) == []
