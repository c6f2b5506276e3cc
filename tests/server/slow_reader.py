"""A reader that asks for a stream, and takes its time to read it."""

import json
import socket
from typing import Any

from tests.server.process import Event, ServerProcess, types_of


class not_reading:  # noqa: N801  # reads as a sentence after `with`
    """A connection with a small window that asks for a stream and takes nothing of it."""

    def __init__(self, server: ServerProcess, path: str, token: str = "token-of-ben") -> None:
        host, port = server.url.removeprefix("http://").split(":")
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.connect((host, int(port)))
        head = f"GET {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\n\r\n"
        self._socket.sendall(head.encode())

    def __enter__(self) -> socket.socket:
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def read_until(connection: socket.socket, *, completed: int) -> list[Event]:
    """What a reader finds that begins to read at last."""
    events: list[Event] = []
    with connection.makefile("rb") as file:
        for raw in file:
            line = raw.decode()
            if line.startswith("data: "):
                data: dict[str, Any] = json.loads(line.removeprefix("data: "))
                events.append(Event(type=data["type"], id=str(data["seq"]), data=data))
                if types_of(events).count("run.completed") == completed:
                    return events
    raise AssertionError("the stream ended")
