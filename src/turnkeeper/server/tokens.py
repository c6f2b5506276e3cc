"""Everyone whom a token can let in: by an API key, or as the operator's own identities say."""

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from turnkeeper.errors import NotAuthenticated, TokenExpired, TokenRevoked
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.keys import PREFIX
from turnkeeper.model.api_key import KeyKind
from turnkeeper.model.ids import KeyId
from turnkeeper.ports.identities import BY_JWT, Identities, Shown
from turnkeeper.server.attempts import Attempts


class Tokens:
    """What a face asks who somebody is. It knows the tokens of browsers, too, which come as a cookie."""

    def __init__(
        self,
        keeper: Turnkeeper,
        identities: Identities,
        *,
        now: Callable[[], float] = time.monotonic,
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._keys, self._identities = keeper.keys, identities
        self._attempts = Attempts(keeper.settings.failed_tokens, now=now)
        self._today = today

    async def shown(self, token: str, *, address: str) -> Shown:
        """Raises NotAuthenticated, TokenExpired, TooManyAttempts or RateLimited."""
        return await self._tried(token, address, self._found)

    async def logged_in(self, token: str, *, address: str) -> Shown:
        """The same for the token of a cookie. Raises NotAuthenticated for any but that of a login."""
        return await self._tried(token, address, self._login)

    async def holds(self, shown: Shown) -> bool:
        """Whether a token that was shown a while ago still is good."""
        if shown.mark.startswith("key_"):
            return await self._keys.is_live(shown.principal.tenant, KeyId(shown.mark))
        return shown.until is None or self._today() < shown.until

    async def _tried(self, token: str, address: str, find: Callable[[str], Awaitable[Shown]]) -> Shown:
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        self._attempts.check(address, digest)
        try:
            shown = await find(token)
        except (TokenExpired, TokenRevoked):
            raise  # It was good once: whoever has it does not guess.
        except NotAuthenticated:
            self._attempts.failed(address)
            raise
        self._attempts.succeeded(digest)
        return shown

    async def _login(self, token: str) -> Shown:
        """Whoever the token that was shown for it speaks for now. What a JWT said is what the login remembers."""
        login = await self._keys.found(token)
        if login.kind is not KeyKind.LOGIN:
            raise NotAuthenticated
        if login.parent == BY_JWT:
            return Shown(principal=replace(login.principal, key_id=None), mark=login.id, until=login.expires_at)
        if (parent := await self._keys.parent_of(login)) is not None:
            await self._keys.admit(parent)
            return Shown(principal=parent.principal, mark=login.id, until=login.expires_at)
        principal = self._identities.standing(login.parent or "")
        if principal is None:
            raise TokenRevoked
        return Shown(principal=principal, mark=login.id, until=login.expires_at)

    async def _found(self, token: str) -> Shown:
        if not token.startswith(PREFIX):
            return await self._identities.shown(token)
        key = await self._keys.found(token)
        if key.kind is not KeyKind.KEY:
            raise NotAuthenticated
        await self._keys.admit(key)
        return Shown(principal=key.principal, mark=key.id, until=key.expires_at)


def csrf_of(token: str) -> str:
    """What a page must say along with its cookie: it proves that it may read what we tell it."""
    return hmac.new(token.encode("utf-8", "surrogateescape"), b"turnkeeper csrf", hashlib.sha256).hexdigest()
