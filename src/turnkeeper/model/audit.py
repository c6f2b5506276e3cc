"""The hash-chained record of every envelope, accepted or refused."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnkeeper.model.ids import TenantId

GENESIS = bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """What is said about one envelope: who, what, and what became of it. Never the words of a user."""

    tenant: TenantId
    at: datetime
    verb: str
    outcome: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Entry `no` of one chain; `body` is the canonical JSON of its facts, exactly as it was hashed."""

    tenant: TenantId
    chain: str
    no: int
    body: str
    hash: bytes

    def follows(self, previous: bytes) -> bool:
        return self.hash == chain_hash(previous, self.tenant, self.chain, self.no, self.body)


def chain_hash(previous: bytes, tenant: TenantId, chain: str, no: int, body: str) -> bytes:
    """SHA-256 over the hash before, the place in the chain and the body, so that nothing can be moved or dropped."""
    return hashlib.sha256(b"%b\n%b\n" % (previous, f"{tenant}\n{chain}\n{no}".encode()) + body.encode()).digest()
