"""A skill in a process of its own, on a stock client: says what it understands, and dims lamps until its input ends.

Run by the Python of one of the environments, with the port of the bus and the name under which it speaks.
"""

import sys

from ovos_bus_client import Message, MessageBusClient


def main(port: int, speak: str) -> None:
    bus = MessageBusClient(host="127.0.0.1", port=port)

    def dim(message: Message) -> None:
        bus.emit(message.forward(speak, {"utterance": f"{message.data['slots']['what']} is darker", "lang": "en-us"}))
        bus.emit(message.forward("mycroft.skill.handler.complete", {"name": "dim"}))

    bus.on("lamp.skill:dim", dim)
    bus.run_in_thread()
    bus.connected_event.wait()
    understood = {"skill_id": "lamp.skill", "intent_name": "dim", "lang": "en-us", "samples": ["dim the {what}"]}
    bus.emit(Message("ovos.intent.register.template", understood))
    sys.stdin.read()
    bus.close()


main(int(sys.argv[1]), sys.argv[2])
