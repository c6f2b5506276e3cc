"""The message bus beside the server, open for as long as the server is."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import RateLimited, StoreUnavailable, TooManyAttempts, TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.principal import LOCAL
from turnkeeper.server.tokens import Tokens

if TYPE_CHECKING:
    from turnkeeper.bus.orchestrator import Orchestrator
    from turnkeeper.bus.relay import Relay


class BusPortTaken(Exception):
    """Says in one line what is in the way."""


class BusBeside:
    """Where nobody asked for a bus and its port is taken, there is none, and `told` says so."""

    def __init__(
        self,
        keeper: Turnkeeper,
        tokens: Tokens,
        set_up: Sequence[Callable[["Orchestrator"], Any]],
        *,
        is_asked_for: bool,
    ) -> None:
        self._keeper, self._tokens, self._set_up, self._is_asked_for = keeper, tokens, set_up, is_asked_for
        self.told: list[str] = []
        self.url: str | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Callable[[], None] | None]:
        """Gives what is to be called when it is time to leave."""
        settings = self._keeper.settings
        async with AsyncExitStack() as stack:
            relay = None
            if settings.bus_url is None:
                relay = await self._relay(stack)
            if relay is None and settings.bus_url is None:
                if self._set_up:
                    self.told.append(
                        "There is no bus, so --bus-setup is of no use. "
                        "Give the bus a port with --bus-port, or join one with --bus-url."
                    )
                yield None
                return
            from turnkeeper.bus.link import address_of
            from turnkeeper.bus.serving import on_the_bus

            orchestrator = await stack.enter_async_context(on_the_bus(self._keeper, relay, self._set_up))
            self.url = relay.url if relay else settings.bus_url
            assert self.url is not None, "it is on a bus"
            self.told.append(f"Bus at {self.url}" if relay else f"Joining the bus at {address_of(self.url)}")
            yield orchestrator.leave

    async def _relay(self, stack: AsyncExitStack) -> "Relay | None":
        settings = self._keeper.settings
        if settings.bus_port == "off":
            return None
        from turnkeeper.bus.serving import relay_of

        relay = relay_of(settings, admits=self._admits)
        try:
            await relay.start()
        except OSError as error:
            place = f"{settings.host}:{settings.bus_port}"
            if self._is_asked_for:
                raise BusPortTaken(
                    f"The bus cannot listen on {place}: {error.strerror or error}. Choose another port with "
                    "--bus-port, any with --bus-port 0, or none with --bus-port off."
                ) from None
            self.told.append(
                f"No bus: {place} is taken. Choose another port with --bus-port, or join that bus with --bus-url."
            )
            return None
        stack.push_async_callback(relay.close)
        self._keeper.telemetry.bus(lambda: asdict(relay.counts))
        return relay

    async def _admits(self, token: str, address: str) -> bool | None:
        """Whoever is on a bus hears everything on it, so it is for those of its own tenant alone."""
        try:
            shown = await self._tokens.shown(token, address=address)
            who = await self._keeper.directory.admitted(shown.principal)
        except (RateLimited, StoreUnavailable, TooManyAttempts):
            return None
        except TurnkeeperError:
            return False
        if not who.is_let_into("bus:write"):
            return False
        return who.tenant == LOCAL.tenant and who.may_write and who.session_id is None
