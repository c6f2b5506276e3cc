"""Tools inside a graph that belong to its run: which run that is comes with the config, never from the state."""

from langchain_core.runnables import RunnableConfig

from turnkeeper.ports.agent import AgentTurn

THE_TURN = "__turnkeeper_turn"
IS_OURS = "turnkeeper"


def current_turn(config: RunnableConfig) -> AgentTurn:
    """The turn that this graph runs in. It holds what the run may do; nothing in the graph's state can change it."""
    turn = config.get("configurable", {}).get(THE_TURN)
    if not isinstance(turn, AgentTurn):
        raise RuntimeError("this graph does not run in a turn of turnkeeper; hand the config of the node on")
    return turn
