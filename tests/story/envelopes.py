"""Full envelopes, a pack that they can name, and an agent that remembers what it was handed."""

import copy
import itertools
from collections.abc import Mapping
from typing import Any

from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.reply import Reply

TRACE = "0af7651916cd43dd8448eb211c80319c"
PHOTO = {
    "artifact_id": "art_9",
    "media_type": "image/jpeg",
    "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "uri": "blob://demo/art_9",
}

HELPDESK = {
    "pack.yaml": "id: helpdesk\nversion: 1.4.0\ntitle: Help desk\nclassification: INTERNAL\n"
    "ceilings: {tool_calls: 8}\nprompts: {system: Be brief.}\n",
    "intents/all.yaml": "- {code: ORDERS_RETURN, name: Return, examples: [send it back], grants: [orders.return]}\n"
    "- {code: ORDERS_STATUS, name: Status, examples: [where is it], channels: [app_chat, voice, sms]}\n",
    "responses/all.yaml": "- {intent: ANY, agent: true, hint: Help them.}\n",
}

_numbers = itertools.count(1)


def an_envelope(**changes: Any) -> dict[str, Any]:
    """Example A; a change is given by path, such as `input__message`, and `...` leaves the field out."""
    document: dict[str, Any] = {
        "request_id": f"req_{next(_numbers):04d}",
        "tenant_id": LOCAL.tenant,
        "user": {
            "user_id": "usr_100",
            "role": "customer",
            "delegation": {
                "auth_type": "oauth2",
                "scopes": ["orders.read", "orders.return"],
                "subject": "u:user:100",
                "token_ref": "tok_u_1",
            },
        },
        "agent": {"agent_id": "spy", "workload_identity": "spiffe://demo/agents/helpdesk", "role": "helpdesk"},
        "context_pack_refs": ["helpdesk@1.4.0"],
        "input": {
            "intent": "orders.return",
            "message": "I want to send back the blue kettle.",
            "channel": "app_chat",
            "locale": "en-GB",
            "context": {"order_id": "ord_55", "channel_signals": {"typing": {"duration_ms": 4200}}},
        },
        "mode": "batch",
        "runtime": {"plan_timeout_ms": 15_000, "max_tool_calls": 6, "max_cost_cents": 20.0},
        "trace": {"trace_id": TRACE, "span_id": "b7ad6b7169203331", "trace_flags": "01"},
    }
    for path, value in changes.items():
        *parents, name = path.split("__")
        place: dict[str, Any] = document
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is ...:
            place.pop(name, None)
        else:
            place[name] = copy.deepcopy(value)
    return document


class Spy:
    """An agent that keeps every turn it was handed, and answers how many these were."""

    def __init__(self) -> None:
        self.turns: list[AgentTurn] = []

    async def __call__(self, turn: AgentTurn) -> str:
        self.turns.append(turn)
        return f"answer {len(self.turns)}"


async def a_desk(keeper: Turnkeeper, files: Mapping[str, str] = HELPDESK) -> Spy:
    """The pack is pushed, and the spy answers."""
    await keeper.packs.push(dict(files))
    spy = Spy()
    keeper.agent("spy")(spy)
    return spy


async def answered(keeper: Turnkeeper, principal: Principal = LOCAL, /, **changes: Any) -> Reply:
    return await keeper.reply_to(await keeper.invoke(an_envelope(**changes), principal=principal))
