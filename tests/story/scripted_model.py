"""A chat model on a real socket that answers as a test has written down, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class Answer:
    """One answer of the server. `after` waits first; `hang_up` closes the connection instead of answering."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    hang_up: bool = False


def saying(content: str | None, *, finish: str = "stop", model: str = "scripted-1", **message: Any) -> Answer:
    """An answer of the right shape."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }
    return Answer(body=json.dumps(body).encode())


def saying_json(**content: Any) -> Answer:
    return saying(json.dumps(content))


@dataclass(kw_only=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(kw_only=True)
class ScriptedModel:
    """Answers in the order of its script; the last answer is given again and again."""

    url: str
    script: list[Answer]
    asked: list[Asked] = field(default_factory=list)


@asynccontextmanager
async def a_model(*script: Answer) -> AsyncIterator[ScriptedModel]:
    answers = list(script)
    model = ScriptedModel(url="", script=answers)

    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await _exchange(reader, writer, model)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The caller has gone, or the test is over.
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    model.url = f"http://{host}:{port}/v1"
    try:
        yield model
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, model: ScriptedModel) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    model.asked.append(Asked(path=head[0].split(" ")[1], headers=headers, body=json.loads(body)))
    answer = model.script.pop(0) if len(model.script) > 1 else model.script[0]
    if answer.after:
        await asyncio.sleep(answer.after)
    if answer.hang_up:
        return
    lines = _lines(answer)
    writer.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
    await writer.drain()


def _lines(answer: Answer) -> Sequence[str]:
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(answer.body)),
        "Connection": "close",
        **answer.headers,
    }
    return [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
