"""Graphs for stories, with models that say what a script says and remember what they were given. No network."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import ToolCallChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from pydantic import Field

from turnkeeper.agents.langgraph.tools import call_session_tools, session_tools

Script = Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Says what `script` makes of its messages, word by word when it is streamed. `seen` is all that it was given."""

    script: Script
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.seen.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.script(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        self.seen.append(messages)
        said = self.script(messages)
        for word in str(said.text).split(" ") if said.text else ():
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
            if run_manager:
                run_manager.on_llm_new_token(f"{word} ", chunk=chunk)
            yield chunk
        if said.tool_calls:
            calls = [
                ToolCallChunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
                for index, call in enumerate(said.tool_calls)
            ]
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=calls))


class SessionState(MessagesState):
    session_context: dict[str, Any]


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text).strip() for message in messages]


def recounting(messages: list[BaseMessage]) -> AIMessage:
    """Says how often it was spoken to, and what was said to it first."""
    said = [message for message in messages if message.type == "human"]
    return AIMessage(f"{len(said)}: {said[0].text}")


def talker(script: Script = recounting) -> tuple[StateGraph[Any, Any, Any, Any], ScriptedModel]:
    """A graph with one node that asks a model."""
    model = ScriptedModel(script=script)

    async def speak(state: SessionState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(SessionState).add_node("speak", speak).add_edge(START, "speak"), model


@tool
async def weather(city: str) -> str:
    """The weather in a city."""
    await asyncio.sleep(0)
    return f"sunny in {city}"


@tool
async def book(city: str) -> str:
    """Book a journey, if a person agrees."""
    answer = interrupt(f"Book a journey to {city}?")
    return f"{answer}: {city}"


def _traveller(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if last.type == "tool":
        done = [str(message.text) for message in messages if message.type == "tool"]
        return AIMessage(f"Done: {', '.join(done)}")
    names = [word.strip("?.,") for word in str(last.text).split() if word[0].isupper()]
    kind = "book" if "book" in str(last.text).lower() else "weather"
    calls = [{"name": kind, "args": {"city": city}, "id": f"call-{city}"} for city in names[1:]]
    return AIMessage("", tool_calls=calls) if calls else AIMessage(f"You have spoken {_count(messages)} times")


def _count(messages: list[BaseMessage]) -> int:
    return sum(message.type == "human" for message in messages)


def traveller() -> tuple[StateGraph[Any, Any, Any, Any], ScriptedModel]:
    """A graph with tools: the names of cities make it call one for each, all at once."""
    model = ScriptedModel(script=_traveller)

    async def think(state: SessionState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(SessionState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([weather, book]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph, model


def _clerk(messages: list[BaseMessage]) -> AIMessage:
    """Calls the tools that it is told to call: `call crm.note {"line": "hello"}`, several behind each other."""
    last = messages[-1]
    if last.type == "tool":
        since = next(no for no in range(len(messages) - 1, -1, -1) if messages[no].type != "tool")
        said = [json.loads(str(message.text)) for message in messages[since + 1 :]]
        return AIMessage(", ".join(each.get("data") or each["error"]["code"] for each in said))
    asked = str(last.text).split("call ")[1:]
    calls = [
        {"name": name.replace(".", "-"), "args": json.loads(arguments), "id": f"call-{number}"}
        for number, (name, _, arguments) in enumerate((each.strip().partition(" ") for each in asked), 1)
    ]
    return AIMessage("", tool_calls=calls) if calls else AIMessage("Nothing to do")


def clerk(*, with_tool_node: bool = False) -> tuple[StateGraph[Any, Any, Any, Any], ScriptedModel, list[list[str]]]:
    """A graph with the tools of its session, and which of them it was offered in each turn."""
    model, offered = ScriptedModel(script=_clerk), list[list[str]]()

    async def think(state: SessionState, config: RunnableConfig) -> dict[str, Any]:
        tools = await session_tools(config)
        offered.append([tool.name for tool in tools])
        return {"messages": [await model.bind_tools(tools).ainvoke(state["messages"])]}

    async def by_tool_node(state: SessionState, config: RunnableConfig) -> Any:
        return await ToolNode(await session_tools(config)).ainvoke(state, config)

    graph = StateGraph(SessionState)
    graph.add_node("think", think)
    graph.add_node("tools", by_tool_node if with_tool_node else call_session_tools)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph, model, offered
