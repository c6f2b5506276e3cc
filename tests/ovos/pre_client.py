"""A conversation by the newest client of the wild, unmodified: says what it is told to, and tells what it heard.

Run by the Python of its own environment, with the port of the bus and the id of a session, or `default`. Each line
of its input is one utterance with how many replies are expected; each line of its output is what became of it. It
says everything by its new name, and so sends every utterance twice. It takes no session over by itself, so this does.
"""

import json
import queue
import sys
from typing import Any

from ovos_bus_client import Message, MessageBusClient
from ovos_bus_client.session import Session


def main(port: int, session_id: str) -> None:
    session = None if session_id == "default" else Session(session_id)
    bus = MessageBusClient(host="127.0.0.1", port=port, session=session)
    spoken: queue.Queue[str] = queue.Queue()
    ended: queue.Queue[dict[str, Any]] = queue.Queue()

    def heard(message: Message) -> None:
        if message.context["session"].get("session_id", "default") != session_id:
            return
        if message.msg_type == "ovos.utterance.speak":
            spoken.put(message.data["utterance"])
        else:
            ended.put(message.context["session"])

    bus.on("ovos.utterance.speak", heard)
    bus.on("ovos.utterance.handled", heard)
    synced: queue.Queue[str] = queue.Queue()
    bus.on("ovos.session.update_default", lambda message: synced.put("synced"))
    bus.run_in_thread()
    bus.connected_event.wait()

    known: dict[str, Any] | None = None
    for line in sys.stdin:
        told = json.loads(line)
        context = {} if known is None else {"session": Session.deserialize(known).serialize()}
        bus.emit(Message("ovos.utterance.handle", {"utterances": [told["say"]], "lang": "en-US"}, context))
        last = ended.get(timeout=20)
        replies = [spoken.get(timeout=20) for _ in range(told["replies"])]
        if session is None:
            synced.get(timeout=20)
        else:
            known = last
        left = {"spoken_too_often": spoken.qsize(), "ended_too_often": ended.qsize()}
        print(json.dumps({"spoken": replies, "known": last, **left}), flush=True)
    bus.close()


main(int(sys.argv[1]), sys.argv[2])
