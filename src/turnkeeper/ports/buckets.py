"""How much a tenant may still ask for, shared by all nodes."""

from datetime import datetime
from typing import Protocol

from turnkeeper.model.ids import TenantId
from turnkeeper.model.policy import Rate


class BucketStore(Protocol):
    async def take(self, tenant: TenantId, rate: Rate, *, wanted: int, at: datetime) -> float:
        """Fill the tenant's bucket up to now and take up to `wanted` tokens out of it, whole ones.

        Returns how many were taken. When not even one was there, how many are missing to one, as a number below 0.
        A clock that goes back takes nothing away and gives nothing.
        """
