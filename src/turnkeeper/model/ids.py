"""Names for the things of a conversation, so that mixing up two of them is a type error."""

import re
from base64 import b32encode
from datetime import datetime
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
UnitId = NewType("UnitId", str)
KnowledgeBaseId = NewType("KnowledgeBaseId", str)
SourceId = NewType("SourceId", str)
ArtifactId = NewType("ArtifactId", str)
BindingId = NewType("BindingId", str)
DeliveryId = NewType("DeliveryId", str)
CheckpointId = NewType("CheckpointId", str)
LayerId = NewType("LayerId", str)
PointerId = NewType("PointerId", str)
ApprovalId = NewType("ApprovalId", str)
ReceiptId = NewType("ReceiptId", str)
KeyId = NewType("KeyId", str)

Fence = NewType("Fence", int)

# What has one queue, one lease and one feed: a session, or the single run where somebody else keeps the session.
Subject = NewType("Subject", str)

# Anchors of the audit, nodes, and refusals of callers without a tenant belong to the house itself.
HOUSE = TenantId("-")

_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def id_made_at(prefix: str, moment: datetime, *, later_seconds: int = 0) -> str:
    """The least id that may have been made at this moment, or so much later; none was made before 1970."""
    return sortable_id(prefix, max(0, int((moment.timestamp() + later_seconds) * 1000)), 0)


def sortable_id(prefix: str, milliseconds: int, randomness: int) -> str:
    """A prefixed ULID: 48 bits of time, then 80 random bits, so that ids sort by the moment they were made."""
    value = (milliseconds << 80) | randomness
    # 26 letters hold 130 bits; base32 works on whole groups of 40, so the rest is padding on the right.
    letters = b32encode((value << 30).to_bytes(20)).translate(_CROCKFORD)
    return f"{prefix}_{letters[:26].decode()}"


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}")


def is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None
