"""How a round on the bus may end otherwise than with an answer, as its Run tells it."""

from turnkeeper.errors.base import TurnkeeperError


class UtteranceUnmatched(TurnkeeperError):
    code = "utterance_unmatched"
    http_status = 422
    title = "Nobody knows what to do with the utterance"

    def __init__(self) -> None:
        super().__init__(
            "No stage of the pipeline had a handler for this utterance. Look at what each stage said, and add a skill, "
            "a fallback or the stage `agents`."
        )


class UtteranceCancelled(TurnkeeperError):
    code = "utterance_cancelled"
    http_status = 422
    title = "The utterance was called off"

    def __init__(self, by: str, reason: str) -> None:
        super().__init__(
            f"The transformer {by!r} called the utterance off: {reason}. Say it again, or take that transformer out.",
            cancelled_by=by,
            reason=reason,
        )


class HandlerFailed(TurnkeeperError):
    code = "handler_failed"
    http_status = 502
    title = "The handler failed"

    def __init__(self, topic: str, exception: str) -> None:
        super().__init__(f"{topic!r} failed: {exception}. What the session became until then stands.", topic=topic)
        self.exception = exception


class HandlerTimedOut(TurnkeeperError):
    code = "handler_timed_out"
    http_status = 504
    retryable = True
    title = "The handler did not say that it is through"

    def __init__(self, topic: str, seconds: float) -> None:
        super().__init__(
            f"{topic!r} was not through after {seconds:g} seconds, and is not waited for any longer. See whether its "
            "process is on the bus and says when it is through.",
            topic=topic,
        )
        self.exception = f"timeout: not through after {seconds:g} seconds"
