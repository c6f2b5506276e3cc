"""What clients carry, on its way in and out: over HTTP it travels sealed, and nothing of it is shown."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.errors import CarriedInvalid
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.principal import Principal
from turnkeeper.model.run import Run


async def opened(keeper: Turnkeeper, caller: Principal, session_id: str | None, text: str) -> dict[str, Any]:
    """Raises CarriedInvalid."""
    try:
        return await keeper.seals.open(text, session_id, principal=caller)
    except CarriedInvalid as error:
        error.stage = "receive"
        raise


async def sealed(keeper: Turnkeeper, run: Run, carried: Mapping[str, Any] | None) -> str | None:
    if carried is None:
        return None
    return await keeper.seals.seal(carried, run.tenant, run.user, run.session_id)
