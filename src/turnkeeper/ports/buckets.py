"""How much a tenant may still ask for, shared by all nodes."""

from typing import Protocol

from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Rate

MESSAGES = "messages"


class BucketStore(Protocol):
    async def take(self, tenant: TenantId, rate: Rate, *, wanted: int, name: str = MESSAGES) -> float:
        """Fill a bucket of the tenant up to now and take up to `wanted` tokens out of it, whole ones.

        Returns how many were taken. When not even one was there, how many are missing to one, as a number below 0.
        Now is what the database says, as for leases: a node whose clock is wrong takes nothing from the others. A clock
        that goes back takes nothing away and gives nothing.
        """

    async def left(self, tenant: TenantId, rate: Rate, *, name: str = MESSAGES) -> float:
        """How many tokens are in a bucket now. Takes none, and waits for nobody."""
