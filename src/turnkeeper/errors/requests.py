"""Requests that cannot be read, or that nobody may make."""

from turnkeeper.errors.base import TurnkeeperError


class EnvelopeInvalid(TurnkeeperError):
    code = "envelope_invalid"
    http_status = 422
    title = "The request does not have the right shape"

    @classmethod
    def at(cls, pointer: str, message: str) -> "EnvelopeInvalid":
        """For a single fault."""
        fault = {"pointer": pointer, "message": message}
        return cls(f"The request is not valid at {pointer}. See details.", details=[fault])


class MalformedJson(TurnkeeperError):
    code = "malformed_json"
    http_status = 400
    title = "The body is not JSON"


class MalformedRequest(TurnkeeperError):
    code = "malformed_request"
    http_status = 400
    title = "The request cannot be read"


class BodyTooLarge(TurnkeeperError):
    code = "body_too_large"
    http_status = 413
    title = "The body is too large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes. Send less at once.", limit_bytes=limit)


class RouteNotFound(TurnkeeperError):
    code = "route_not_found"
    http_status = 404
    title = "No such route"

    def __init__(self) -> None:
        super().__init__("Nothing answers under this path. /openapi.json lists every route.")


class MethodNotAllowed(TurnkeeperError):
    code = "method_not_allowed"
    http_status = 405
    title = "The route does not take this method"

    def __init__(self, allowed: str) -> None:
        super().__init__(f"This route takes {allowed}." if allowed else "This route does not take this method.")


class MediaTypeNotSupported(TurnkeeperError):
    code = "media_type_not_supported"
    http_status = 415
    title = "The body has the wrong media type"

    def __init__(self) -> None:
        super().__init__("Send JSON in UTF-8, uncompressed, with 'Content-Type: application/json'.")


class NotAuthenticated(TurnkeeperError):
    code = "unauthenticated"
    http_status = 401
    title = "Who are you?"

    def __init__(self, detail: str = "Send a valid token as 'Authorization: Bearer TOKEN'.") -> None:
        super().__init__(detail)


class TokenExpired(NotAuthenticated):
    code = "token_expired"
    title = "The token has expired"

    def __init__(self) -> None:
        super().__init__("This token has expired. Ask the operator for a new one.")


class TokenRevoked(NotAuthenticated):
    code = "token_revoked"
    title = "The token was taken back"

    def __init__(self) -> None:
        TurnkeeperError.__init__(self, "This token was revoked, or what it was made with. Ask for a new one.")


class NotAllowed(TurnkeeperError):
    code = "not_allowed"
    http_status = 403
    title = "Not allowed"


class DuplicateRequest(TurnkeeperError):
    code = "duplicate_request"
    http_status = 409
    title = "This request id was used for something else"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"Request id {request_id!r} was used with another body. Use a new id for a new request.")


class RequestUnderWay(TurnkeeperError):
    code = "request_under_way"
    http_status = 409
    retryable = True
    title = "The same request is being done"

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"A request with the id {request_id!r} is being done right now. Send the same one again in a moment; it "
            "gets the same answer.",
            retry_after_ms=1_000,
        )


class ExtraMissing(TurnkeeperError):
    code = "extra_missing"
    http_status = 501
    title = "A part of turnkeeper is not installed"

    def __init__(self, extra: str, library: str) -> None:
        super().__init__(
            f"This needs {library!r}, which is not installed. Install it with: pip install 'turnkeeper[{extra}]'"
        )
