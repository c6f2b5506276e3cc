"""The commands about sessions, and their flags."""

from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import ArchiveFile, Server, Sure, Token

sessions = App(name="sessions", help="Look at sessions, go on from an earlier turn of one, export and erase them.")

SessionRef = Annotated[str, Parameter(help="The id of the session.")]


@sessions.command
def show(
    session: SessionRef,
    /,
    *,
    turn: Annotated[
        int | None, Parameter(name="--turn", help="As it was after this turn, not as it is now.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Show a session: its status, what it was forked from, and what was said last."""
    from turnkeeper.cli.sessions import show_session

    return show_session(session, turn, url, token)


@sessions.command
def fork(
    session: SessionRef,
    /,
    *,
    at_turn: Annotated[
        int | None, Parameter(name="--at-turn", help="The last turn to share; all unless named.", show_default=False)
    ] = None,
    title: Annotated[str | None, Parameter(name="--title", help="What to call it.", show_default=False)] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Begin a session that shares the history of this one up to a turn, and print its id."""
    from turnkeeper.cli.sessions import fork_session

    return fork_session(session, at_turn, title, url, token)


@sessions.command
def export(session: SessionRef, /, *, to: ArchiveFile, url: Server = None, token: Token = None) -> int:
    """Write all that is kept of a session into a zip archive."""
    from turnkeeper.cli.erasure import export as write

    return write("sessions", session, to, url, token)


@sessions.command
def erase(session: SessionRef, /, *, yes: Sure = False, url: Server = None, token: Token = None) -> int:
    """Erase a session everywhere, and print the receipt. There is no way back."""
    from turnkeeper.cli.erasure import erase as away

    return away("sessions", session, yes, url, token)
