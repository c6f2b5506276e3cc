"""What keeps a program from talking over a bus."""

from turnkeeper.errors.base import TurnkeeperError


class BusRefused(TurnkeeperError):
    code = "bus_refused"
    http_status = 502
    title = "The bus does not let us in"

    def __init__(self, status: int, says: str) -> None:
        super().__init__(f"The bus answered {status}: {says or 'nothing more.'} Check its address and the token.")


class BusUnreachable(TurnkeeperError):
    code = "bus_unreachable"
    http_status = 503
    retryable = True
    title = "There is no connection to the bus"

    def __init__(self, why: str) -> None:
        super().__init__(f"There is no connection to the bus: {why}. It is tried again by itself; ask again later.")


class BusBacklogged(TurnkeeperError):
    code = "bus_backlogged"
    http_status = 503
    retryable = True
    title = "Too much waits to be sent over the bus"

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} messages wait to be sent over the bus already. Send this one again later.")


class BusFrameTooLarge(TurnkeeperError):
    code = "bus_frame_too_large"
    http_status = 413
    title = "The message is too large for the bus"

    def __init__(self, size: int, most: int) -> None:
        super().__init__(
            f"The message has {size} bytes, and the bus takes {most}. Keep less in the session, or raise "
            "TURNKEEPER_BUS_FRAME_BYTES on every node."
        )
