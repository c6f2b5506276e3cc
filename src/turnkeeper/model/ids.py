"""Names for the things of a conversation, so that mixing up two of them is a type error."""

from typing import NewType

TenantId = NewType("TenantId", str)
UserId = NewType("UserId", str)
AgentId = NewType("AgentId", str)
NodeId = NewType("NodeId", str)
SessionId = NewType("SessionId", str)
RunId = NewType("RunId", str)
MessageId = NewType("MessageId", str)
AuditId = NewType("AuditId", str)
TraceId = NewType("TraceId", str)

Fence = NewType("Fence", int)

# What has one queue, one lease and one feed: a session, or under client custody the single run.
Subject = NewType("Subject", str)

# Anchors of the audit, nodes, and refusals of callers without a tenant belong to the house itself.
HOUSE = TenantId("-")

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def sortable_id(prefix: str, milliseconds: int, randomness: int) -> str:
    """A prefixed ULID: 48 bits of time, then 80 random bits, so that ids sort by the moment they were made."""
    value = (milliseconds << 80) | randomness
    letters = [""] * 26
    for place in range(25, -1, -1):
        letters[place] = _ALPHABET[value & 31]
        value >>= 5
    return f"{prefix}_{''.join(letters)}"
