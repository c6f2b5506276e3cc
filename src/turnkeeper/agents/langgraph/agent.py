"""Any LangGraph graph as an agent: it remembers by its own checkpoints, and only what our commits name."""

import copy
import json
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import Command, Interrupt, StateSnapshot

from turnkeeper.agents.langgraph.context import SESSION_CONTEXT, session_context
from turnkeeper.agents.langgraph.listening import NodeEnded, ToolStarted, listen
from turnkeeper.agents.langgraph.memory import GraphMemory
from turnkeeper.agents.langgraph.tools import APPROVAL, THE_RUN, GraphRun
from turnkeeper.errors import AgentMemoryLost
from turnkeeper.model.feed import FeedType
from turnkeeper.model.graph import NodeType
from turnkeeper.model.ids import AgentId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.thread import ThreadHead, ThreadName
from turnkeeper.model.verdict import Verdict
from turnkeeper.ports.agent import AgentPolicy, AgentTurn, Suspended

MESSAGES = "messages"

Takes = Callable[[AgentTurn], Mapping[str, Any]]
Gives = Callable[[Mapping[str, Any]], str]
AnyGraph = CompiledStateGraph[Any, Any, Any, Any] | StateGraph[Any, Any, Any, Any]


class GraphAgent:
    """`takes` makes the input of a turn, `gives` the answer out of the state at its end.

    Without them the graph is given the messages that it has not heard yet, as `messages`, and answers with those of
    the assistant; a graph that makes none answers with its output as JSON. `speaks` names the nodes whose words are
    shown, `context` makes what nodes get as their runtime context, `recursion_limit` is LangGraph's own.
    """

    def __init__(
        self,
        id: AgentId,
        graph: AnyGraph,
        policy: AgentPolicy,
        memory: GraphMemory,
        *,
        takes: Takes | None = None,
        gives: Gives | None = None,
        speaks: Collection[str] | None = None,
        context: Callable[[AgentTurn], Any] | None = None,
        recursion_limit: int | None = None,
    ) -> None:
        self.id, self.policy = id, policy
        self._graph = graph.compile() if isinstance(graph, StateGraph) else graph
        self._memory, self._takes, self._gives = memory, takes, gives
        self._speaks, self._context = speaks, context
        self._recursion_limit = recursion_limit
        channels = self._graph.channels
        if takes is None and MESSAGES not in channels:
            raise ValueError(f"the graph of {id!r} keeps no {MESSAGES!r}; say with `takes` what it is given")
        if SESSION_CONTEXT in channels and not isinstance(channels[SESSION_CONTEXT], LastValue):
            raise ValueError(f"{SESSION_CONTEXT!r} is given anew in each turn; keep it in a key without a reducer")
        self._takes_context = SESSION_CONTEXT in channels

    async def answer(self, turn: AgentTurn) -> AsyncGenerator[str | Verdict, None]:
        thread = self._thread_of(turn)
        start = self._own(ThreadHead.of(turn.head if turn.position is None else turn.position), thread)
        given = self._input(turn, start) if turn.position is None or start is None else self._resume(turn, start)
        # A graph that goes on from where it waited is given no input, so what it is told of its session is put there.
        told = {SESSION_CONTEXT: session_context(turn.context)} if self._takes_context else {}
        desk = await self._memory.desk(start, instead=told)
        run = GraphRun(turn)
        graph, config, how = self._on(desk, run, thread)
        has_spoken = False
        heard = listen(graph, given, config, speaks=self._speaks, **how)
        async with aclosing(heard) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    if self._gives is None:
                        has_spoken = True
                        yield piece
                elif isinstance(piece, NodeEnded):
                    turn.budget.step()
                elif isinstance(piece, ToolStarted):
                    turn.notes.begin(piece.call_id, NodeType.STEP, piece.tool)
                    said = {"key": piece.call_id, "tool": piece.tool, "status": "started"}
                    await turn.tell(FeedType.TOOL_STARTED, said)
                else:
                    turn.notes.end(piece.call_id, piece.status)
                    said = {"key": piece.call_id, "tool": piece.tool, "status": piece.status}
                    await turn.tell(FeedType.TOOL_FINISHED, said)
        state = await graph.aget_state(config)
        waits = bool(state.next)
        places = await self._memory.put_away(desk, thread, start, waits=waits)
        if waits:
            raise _asking(self.id, state, places, run, thread, start)
        if not has_spoken and (text := self._text(state.values, desk, thread, start)):
            yield text
        heard_up_to = turn.number if turn.position is None or start is None else start.heard
        head = ThreadHead(
            agent=self.id,
            thread=thread,
            checkpoint=places.pop(""),
            turn=turn.number,
            heard=heard_up_to,
            parts=places,
        )
        turn.move_head(head.told)

    def _thread_of(self, turn: AgentTurn) -> str:
        context = turn.context
        # Where somebody else keeps the session, its id is their choice: the thread is its user's own.
        user = None if context.custody.is_ours else context.user
        return str(
            ThreadName(
                tenant=context.tenant, session_id=context.session_id, epoch=context.epoch, agent=self.id, user=user
            )
        )

    def _own(self, head: ThreadHead | None, thread: str) -> ThreadHead | None:
        """That of another graph is none: this one hears the newest messages instead.

        What a client carries is not believed: a head in another thread is that of somebody else.
        """
        if head is None or head.agent != self.id:
            return None
        if head.thread != thread:
            raise AgentMemoryLost
        return head

    def _on(
        self, desk: InMemorySaver, run: GraphRun, thread: str
    ) -> tuple[CompiledStateGraph[Any, Any, Any, Any], Any, dict[str, Any]]:
        """The graph on the desk of this run. Whose run it is comes with the config, out of reach of its state."""
        graph = copy.copy(self._graph)
        graph.checkpointer = desk
        config: dict[str, Any] = {"configurable": {"thread_id": thread, THE_RUN: run}}
        if self._recursion_limit is not None:
            config["recursion_limit"] = self._recursion_limit
        return graph, config, {} if self._context is None else {"context": self._context(run.turn)}

    def _input(self, turn: AgentTurn, head: ThreadHead | None) -> dict[str, Any]:
        """Only what changes: a key that is not given keeps what it holds."""
        given: dict[str, Any] = dict(self._takes(turn)) if self._takes else {MESSAGES: _unheard(turn, head)}
        if self._takes_context:
            given[SESSION_CONTEXT] = session_context(turn.context)
        return given

    def _resume(self, turn: AgentTurn, position: ThreadHead) -> Command[Any] | None:
        """Goes on with the answers, once there is one for every question that the graph asked at once."""
        answers = []
        while turn.answered < turn.asked:
            answers.append(turn.next_answer())
        answers = answers[position.asked :]
        questions = list(position.interrupts.values())
        if len(answers) < len(questions):
            raise Suspended(questions[len(answers)], position=position.told)
        if not position.interrupts:
            return None
        resume = {id: ask.answer for id, ask in zip(position.interrupts, answers, strict=True)}
        return Command(resume=resume)

    def _text(self, values: Mapping[str, Any], desk: InMemorySaver, thread: str, start: ThreadHead | None) -> str:
        if self._gives is not None:
            return self._gives(values)
        messages = values.get(MESSAGES)
        if isinstance(messages, list):
            # A message that was there before is no answer to this one.
            known = {message.id for message in _messages_at(desk, thread, start)}
            new = [each for each in messages if isinstance(each, AIMessage) and each.id not in known]
            if self._speaks is None and new:
                return str(new[-1].text)
        output = self._graph.output_channels
        names = [output] if isinstance(output, str) else list(output)
        told = {name: values[name] for name in names if name in values and name not in (SESSION_CONTEXT, MESSAGES)}
        return json.dumps(told, default=str, ensure_ascii=False) if told else ""


def _unheard(turn: AgentTurn, head: ThreadHead | None) -> list[AnyMessage]:
    """What was said in this session and is not in the graph's memory, then what the user says now.

    In most turns that is the newest message alone. Others are there when the graph was not asked in a turn, or was
    still waiting in it.
    """
    before = [_message(each) for each in turn.history if head is None or not head.has_heard(each.turn)]
    name = turn.context.run_id
    return [*before, *(HumanMessage(each.as_text, id=f"{name}-{no}") for no, each in enumerate(turn.events, 1))]


def _message(message: Message) -> AnyMessage:
    kind = HumanMessage if message.role is Speaker.USER else AIMessage
    return kind(message.content, id=message.id)


def _messages_at(desk: InMemorySaver, thread: str, start: ThreadHead | None) -> list[AnyMessage]:
    if start is None:
        return []
    place = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": start.checkpoint}
    found = desk.get_tuple({"configurable": place})
    messages = found.checkpoint["channel_values"].get(MESSAGES) if found else None
    return messages if isinstance(messages, list) else []


def _asking(
    agent: AgentId,
    state: StateSnapshot,
    places: dict[str, str],
    run: GraphRun,
    thread: str,
    start: ThreadHead | None,
) -> Suspended:
    """A graph that stopped becomes a run that waits, with everything that it asks at once.

    An approval is waited for alone: who goes on without an answer comes by it again, and finds it decided or asks anew.
    """
    turn, questions = run.turn, [each for each in state.interrupts if not _is_approval(each)]
    heard = turn.number - 1 if turn.position is None or start is None else start.heard
    position = ThreadHead(
        agent=agent,
        thread=thread,
        checkpoint=places.pop(""),
        turn=turn.number,
        heard=heard,
        parts=places,
        interrupts={each.id: _question(each) for each in questions},
        asked=turn.asked,
    )
    if questions:
        return Suspended(_question(questions[0]), position=position.told)
    if (asked := run.first_asked) is not None:
        return Suspended(asked.question, asked.kind, wish=asked.wish, position=position.told)
    stops = [_question(each) for each in state.interrupts] or [f"Stopped before {', '.join(state.next)}. Go on?"]
    return Suspended(stops[0], position=position.told)


def _question(interrupt: Interrupt) -> str:
    value = interrupt.value
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("question"), str):
        return str(value["question"])
    return json.dumps(value, default=str, ensure_ascii=False)


def _is_approval(interrupt: Interrupt) -> bool:
    return isinstance(interrupt.value, Mapping) and interrupt.value.get("kind") == APPROVAL
