"""One piece of work with a server, and what is said when it cannot be done."""

from collections.abc import Callable

from turnkeeper.cli.say import complain
from turnkeeper.cli.talk import HttpTalk, TalkFailed, talk_with_server


def with_server(url: str | None, token: str | None, work: Callable[[HttpTalk], int]) -> int:
    try:
        with talk_with_server(url, token) as talk:
            return work(talk)
    except ValueError as error:
        return complain(str(error))
    except TalkFailed as failure:
        return complain(str(failure), code=1)
