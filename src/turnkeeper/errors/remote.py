"""What keeps a program from reaching a server, or from doing there what only works beside it."""

from turnkeeper.errors.base import TurnkeeperError


class ServerUnreachable(TurnkeeperError):
    code = "server_unreachable"
    http_status = 503
    retryable = True
    title = "No server answers"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"No server answers at {url}: {why}. Check the address, and that one runs there (turnkeeper serve). "
            "What was sent may have been taken; send it again with the same request_id.",
            url=url,
        )


class AnswerUnreadable(TurnkeeperError):
    code = "answer_unreadable"
    http_status = 502
    title = "The answer is not that of a turnkeeper"

    def __init__(self, url: str, status: int) -> None:
        super().__init__(
            f"{url} answered with status {status} and nothing that a turnkeeper says. Check the address, and what "
            "stands between it and here.",
            url=url,
            status=status,
        )


class StreamLost(TurnkeeperError):
    code = "stream_lost"
    http_status = 503
    retryable = True
    title = "The stream came to no end"

    def __init__(self, last_no: int | None) -> None:
        super().__init__(
            "The stream was lost, and could not be taken up again. The run goes on without it: follow it again from "
            f"behind number {last_no or 0}.",
            last_no=last_no,
        )


class NotRemote(TurnkeeperError):
    code = "not_remote"
    http_status = 501
    title = "This is done where the server runs"

    def __init__(self, verb: str) -> None:
        super().__init__(
            f"`{verb}` takes code, and code does not travel to a server. Register it where the server runs: in what "
            "`turnkeeper serve --setup MODULE:FUNCTION` is given, or in a program that embeds `turnkeeper.Turnkeeper`.",
            verb=verb,
        )
