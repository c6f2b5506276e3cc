"""What can go wrong with the memory that an agent keeps by itself."""

from turnkeeper.errors.base import TurnkeeperError


class AgentMemoryUnavailable(TurnkeeperError):
    code = "agent_memory_unavailable"
    http_status = 503
    retryable = True
    title = "The agent's memory cannot be reached"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"Where this agent keeps its own memory could not be reached ({cause}). Nothing of this turn was kept. "
            "Send the same message again; an operator may have to look at the database of the graphs."
        )


class AgentMemoryLost(TurnkeeperError):
    code = "agent_memory_lost"
    http_status = 409
    title = "The agent's memory is gone"

    def __init__(self) -> None:
        super().__init__(
            "The session names a place in its agent's memory that is not there. Restore the database of the graphs, "
            "reset the session to begin anew, or fork it at an earlier turn."
        )
