"""The requests that the clients send: whole, in bytes, before the first one is timed."""

import json
from typing import Any

from turnkeeper.model.ids import AgentId

TOKEN = "token-of-the-bench"
ELSEWHERE = AgentId("elsewhere")
"""An agent that only another node has: its runs are taken in here, and wait."""
ECHO, TORRENT = "echo", "torrent"

PACK = {
    "pack.yaml": "id: helpdesk\nversion: 1.4.0\ntitle: Help desk\nclassification: INTERNAL\n"
    "ceilings: {tool_calls: 8}\nprompts: {system: Be brief.}\n",
    "intents/all.yaml": "- {code: ORDERS_STATUS, name: Status, examples: [where is it]}\n",
    "responses/all.yaml": "- {intent: ANY, agent: true, hint: Help them.}\n",
}


def envelope(number: int) -> dict[str, Any]:
    """A long run in a new session, with a message of usual length and without an intent."""
    return {
        "request_id": f"req_{number:08d}",
        "tenant_id": "default",
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
        "agent": {"agent_id": ELSEWHERE, "workload_identity": "spiffe://demo/agents/helpdesk", "role": "helpdesk"},
        "context_pack_refs": ["helpdesk@1.4.0"],
        "input": {
            "intent": "",
            "message": "I want to send back the blue kettle that came on Monday; its lid does not close.",
            "channel": "app_chat",
            "locale": "en-GB",
            "context": {"order_id": "ord_55"},
        },
        "mode": "long_running",
        "runtime": {"plan_timeout_ms": 15_000, "max_tool_calls": 6, "max_cost_cents": 20.0},
        "trace": {"trace_id": f"0af7651916cd43dd8448eb21{number:08x}", "span_id": "b7ad6b7169203331"},
    }


def post(path: str, document: Any) -> bytes:
    body = json.dumps(document).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()


def invoking(first: int, count: int) -> list[bytes]:
    return [post("/api/v1/invoke", envelope(number)) for number in range(first, first + count)]


def chatting(session_id: str | None, count: int) -> list[bytes]:
    """Messages to the echo, in one session if one is named."""
    place = {} if session_id is None else {"session_id": session_id}
    said = "And how long does it take until my money is back?"
    return [post("/api/v1/chat", {"message": f"{said} ({each})", "agent": ECHO, **place}) for each in range(count)]


def torrent() -> bytes:
    """Asks for a stream that goes on until its reader hangs up."""
    said = {"message": "Tell me everything.", "agent": TORRENT, "stream": True, "cancel_on_disconnect": True}
    return post("/api/v1/chat", said)
