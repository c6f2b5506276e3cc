"""A conversation by the stable client of the wild, unmodified: says what it is told to, and tells what it heard.

Run by the Python of its own environment, with the port of the bus and the id of a session, or `default`. Each line
of its input is one utterance with how many replies are expected; each line of its output is what became of it.
"""

import json
import queue
import sys

from ovos_bus_client import Message, MessageBusClient
from ovos_bus_client.session import Session, SessionManager


def main(port: int, session_id: str) -> None:
    session = None if session_id == "default" else Session(session_id)
    bus = MessageBusClient(host="127.0.0.1", port=port, session=session)
    spoken: queue.Queue[str] = queue.Queue()
    ended: queue.Queue[str] = queue.Queue()

    def heard(message: Message) -> None:
        if message.context["session"].get("session_id", "default") != session_id:
            return
        if message.msg_type == "speak":
            spoken.put(message.data["utterance"])
        else:
            ended.put("handled")

    bus.on("speak", heard)
    bus.on("ovos.utterance.handled", heard)
    synced: queue.Queue[str] = queue.Queue()
    bus.on("ovos.session.update_default", lambda message: synced.put("synced"))
    bus.run_in_thread()
    bus.connected_event.wait()
    if session is None:
        synced.get(timeout=20)

    for line in sys.stdin:
        told = json.loads(line)
        bus.emit(Message("recognizer_loop:utterance", {"utterances": [told["say"]], "lang": "en-us"}))
        ended.get(timeout=20)
        replies = [spoken.get(timeout=20) for _ in range(told["replies"])]
        if session is None:
            # What the device's session has become is told after the round; the next utterance is to carry it.
            synced.get(timeout=20)
        known = SessionManager.sessions[session_id].serialize()
        left = {"spoken_too_often": spoken.qsize(), "ended_too_often": ended.qsize()}
        print(json.dumps({"spoken": replies, "known": known, **left}), flush=True)
    bus.close()


main(int(sys.argv[1]), sys.argv[2])
