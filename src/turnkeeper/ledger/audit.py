"""Proving that no entry of the audit was changed, moved or dropped."""

import json
from dataclasses import dataclass

from turnkeeper.model.audit import GENESIS
from turnkeeper.model.ids import HOUSE, TenantId
from turnkeeper.ports.audit import AuditStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How much was looked at, and what is wrong with it, in words."""

    entries: int
    chains: int
    anchors: int
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.faults


async def verify_audit(audit: AuditStore, tenant: TenantId | None = None) -> Verdict:
    """Walk every chain from its beginning, then compare with what the anchors saw."""
    entries = 0
    faults: list[str] = []
    hashes: dict[tuple[str, str], tuple[int, bytes]] = {}
    seen: dict[tuple[str, str, int], str] = {}
    anchors: list[tuple[str, str, int, str]] = []
    async for entry in audit.entries(tenant):
        entries += 1
        key = (entry.tenant, entry.chain)
        no, previous = hashes.get(key, (0, GENESIS))
        if entry.no != no + 1:
            faults.append(f"Chain {entry.chain} of tenant {entry.tenant}: entry {no + 1} is missing.")
        elif not entry.follows(previous):
            faults.append(
                f"Chain {entry.chain} of tenant {entry.tenant}: entry {entry.no} does not follow the one before."
            )
        hashes[key] = (entry.no, entry.hash)
        seen[(entry.tenant, entry.chain, entry.no)] = entry.hash.hex()
        if entry.tenant == HOUSE:
            anchors += _anchored(entry.body)
    if tenant is not None and tenant != HOUSE:
        async for entry in audit.entries(HOUSE):
            anchors += [anchor for anchor in _anchored(entry.body) if anchor[0] == tenant]
    for owner, chain, no, digest in anchors:
        if seen.get((owner, chain, no)) != digest:
            faults.append(f"Chain {chain} of tenant {owner}: entry {no} is not what its anchor saw.")
    return Verdict(entries=entries, chains=len(hashes), anchors=len(anchors), faults=tuple(faults))


def _anchored(body: str) -> list[tuple[str, str, int, str]]:
    said = json.loads(body)
    if said["verb"] != "anchor":
        return []
    return [
        (owner, head.get("chain", said["chain"]), head["no"], head["hash"]) for owner, head in said["heads"].items()
    ]
