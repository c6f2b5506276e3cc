"""What can go wrong with API keys and with showing tokens."""

from turnkeeper.errors.base import TurnkeeperError


class KeyNotFound(TurnkeeperError):
    code = "key_not_found"
    http_status = 404
    title = "There is no such key"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"There is no key {key_id!r} that you may see. List the keys to find its id.")


class TooManyKeys(TurnkeeperError):
    code = "too_many_keys"
    http_status = 409
    title = "There are too many keys"

    def __init__(self, most: int) -> None:
        super().__init__(f"A user has at most {most} live keys. Revoke one that is no longer used, then try again.")


class TooManyAttempts(TurnkeeperError):
    code = "too_many_attempts"
    http_status = 429
    retryable = True
    title = "Too many tokens that nobody knows"

    def __init__(self, retry_after_ms: int) -> None:
        super().__init__(
            "Too many unknown tokens came from your address. Wait a while, then send the right one.",
            retry_after_ms=retry_after_ms,
        )


class IssuerUnavailable(TurnkeeperError):
    code = "issuer_unavailable"
    http_status = 503
    retryable = True
    title = "The issuer of tokens cannot be reached"

    def __init__(self) -> None:
        super().__init__("The keys that tokens are signed with cannot be read right now. Try again in a while.")


class CsrfRefused(TurnkeeperError):
    code = "csrf_refused"
    http_status = 403
    title = "This does not come from our own page"

    def __init__(self) -> None:
        super().__init__(
            "A change that a browser asks for with its login needs the header X-CSRF-Token. `GET /api/v1/me` tells it."
        )
