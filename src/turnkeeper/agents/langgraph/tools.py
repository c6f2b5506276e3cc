"""Tools inside a graph that belong to its run: which run that is comes with the config, never from the state."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.types import interrupt

from turnkeeper.model.tool import ToolResult, ToolSpec
from turnkeeper.ports.agent import AgentTurn, Suspended

THE_RUN = "__turnkeeper_run"
IS_OURS = "turnkeeper"
APPROVAL = "approval"
_CALL_ID = "tool_call_id"


@dataclass(slots=True)
class GraphRun:
    """What a node reaches through its config. `asked` are the calls of tools that wait for a person, by their place."""

    turn: AgentTurn
    asked: dict[int, Suspended] = field(default_factory=dict)

    @property
    def first_asked(self) -> Suspended | None:
        return self.asked[min(self.asked)] if self.asked else None


def current_turn(config: RunnableConfig) -> AgentTurn:
    """The turn that this graph runs in. It holds what the run may do; nothing in the graph's state can change it."""
    return _run_of(config).turn


async def session_tools(config: RunnableConfig) -> list[StructuredTool]:
    """The tools that the session permits right now, for a model to be bound to.

    Models do not take a dot in a name: `crm.ticket.read` is `crm-ticket-read` to them.
    """
    return [_tool_of(spec) for spec in await current_turn(config).tools()]


async def call_session_tools(state: Any, config: RunnableConfig) -> dict[str, Any]:
    """A node that does what the last message calls for, through the run: what the session does not permit is denied.

    Where a person has to approve, the graph waits here; what was done beside it is not done a second time.
    """
    messages = state["messages"] if isinstance(state, Mapping) else state.messages
    last = messages[-1]
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    works = (
        _called(config, call["name"], call["args"], str(call["id"]), place=place) for place, call in enumerate(calls)
    )
    results = await asyncio.gather(*works, return_exceptions=True)
    said = []
    for call, result in zip(calls, results, strict=True):
        if isinstance(result, BaseException):
            raise result
        status = "success" if result.is_ok else "error"
        said.append(ToolMessage(_text(result), tool_call_id=call["id"], name=call["name"], status=status))
    return {"messages": said}


class SessionTool(StructuredTool):
    """Tells calls apart by the ids that the model gave them, also when a ToolNode makes them."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        if isinstance(input, dict) and "id" in input:
            given = config or RunnableConfig()
            config = {**given, "metadata": {**given.get("metadata", {}), _CALL_ID: input["id"]}}
        return await super().ainvoke(input, config, **kwargs)


def _tool_of(spec: ToolSpec) -> StructuredTool:
    """Bound to no run: which one calls it is seen when it is called."""

    async def call(config: RunnableConfig, **arguments: Any) -> str:
        call_id = config.get("metadata", {}).get(_CALL_ID)
        return _text(await _called(config, spec.name, arguments, call_id))

    return SessionTool(
        name=spec.name.replace(".", "-"),
        description=spec.description or spec.name,
        args_schema=dict(spec.parameters),
        coroutine=call,
        tags=[IS_OURS],
    )


async def _called(
    config: RunnableConfig, name: str, arguments: Mapping[str, Any], call_id: str | None, place: int = 0
) -> ToolResult:
    run = _run_of(config)
    while True:
        try:
            result: ToolResult = await run.turn.call_with(name.replace("-", "."), arguments, call_id=call_id)
        except Suspended as asked:
            # The graph stops here; when it goes on, what the person decided is found by the call itself.
            run.asked.setdefault(place, asked)
            interrupt({"kind": APPROVAL, "question": asked.question})
        else:
            return result


def _text(result: ToolResult) -> str:
    return json.dumps(result.told, default=str, ensure_ascii=False)


def _run_of(config: RunnableConfig) -> GraphRun:
    run = config.get("configurable", {}).get(THE_RUN)
    if not isinstance(run, GraphRun):
        raise RuntimeError("this graph does not run in a turn of turnkeeper; hand the config of the node on")
    return run
