"""The commands about sessions, and their flags."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnkeeper.cli.flags import ArchiveFile, AsJson, Limit, Server, Sure, Token

sessions = App(name="sessions", help="Begin, look at, follow, change, fork, adopt, release, export and erase sessions.")

SessionRef = Annotated[str, Parameter(help="The id of the session.")]
Module = Annotated[
    Literal["research", "analysis", "document", "modelling", "knowledge", "insight"] | None,
    Parameter(name="--module", help="Where in the application one works.", show_default=False),
]
Project = Annotated[
    str | None, Parameter(name="--project", help="The project that it inherits from.", show_default=False)
]
Mounts = Annotated[list[str], Parameter(help="KIND:ID, with pointer, knowledge_base or artifact as the kind.")]


def _only(name: str, which: str) -> Parameter:
    return Parameter(name=name, help=f"Only those {which}.", show_default=False)


@sessions.command(name="list")
def list_sessions(
    *,
    status: Annotated[
        Literal["active", "paused", "closed", "expired"] | None,
        Parameter(name="--status", help="Only those in this status.", show_default=False),
    ] = None,
    agent: Annotated[str | None, _only("--agent", "that this agent answers in")] = None,
    owner: Annotated[str | None, _only("--owner", "of this user; for owner and admins")] = None,
    title: Annotated[str | None, _only("--title", "with this in their title")] = None,
    text: Annotated[str | None, _only("--text", "with these words in their title or opening")] = None,
    fork_of: Annotated[str | None, _only("--fork-of", "that were forked from this session")] = None,
    module: Module = None,
    project: Project = None,
    created_from: Annotated[str | None, _only("--created-from", "that began then or later")] = None,
    created_until: Annotated[str | None, _only("--created-until", "that began before")] = None,
    active_from: Annotated[str | None, _only("--active-from", "last active then or later")] = None,
    active_until: Annotated[str | None, _only("--active-until", "last active before")] = None,
    order: Annotated[
        Literal["created", "active"] | None,
        Parameter(name="--order", help="By when they began, or by when they were last active.", show_default=False),
    ] = None,
    limit: Limit = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List sessions, newest first: one's own, or all of the tenant for its owner and admins."""
    from turnkeeper.cli.sessions import list_sessions, moment_in_utc

    sought = {
        "status": status,
        "agent": agent,
        "owner": owner,
        "title": title,
        "text": text,
        "fork_of": fork_of,
        "order": order,
        "module": module,
        "project_id": project,
        "created_from": moment_in_utc(created_from),
        "created_until": moment_in_utc(created_until),
        "active_from": moment_in_utc(active_from),
        "active_until": moment_in_utc(active_until),
    }
    return list_sessions(sought, limit, as_json=json, url=url, token=token)


@sessions.command
def create(
    *,
    agent: Annotated[str | None, Parameter(name="--agent", help="Who answers.", show_default=False)] = None,
    module: Module = None,
    project: Project = None,
    objective: Annotated[
        str | None, Parameter(name="--objective", help="What it is for, in words.", show_default=False)
    ] = None,
    policy: Annotated[
        Literal["exploratory", "standard", "regulated", "audit_critical"] | None,
        Parameter(name="--policy", help="How much care its actions need.", show_default=False),
    ] = None,
    title: Annotated[str | None, Parameter(name="--title", help="What to call it.", show_default=False)] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Begin a session without a message in it, and print its id."""
    from turnkeeper.cli.sessions import create_session

    wanted = {
        "agent": agent,
        "module": module,
        "project_id": project,
        "objective": objective,
        "policy": policy,
        "title": title,
    }
    return create_session(wanted, url, token)


@sessions.command
def pause(session: SessionRef, /, *, url: Server = None, token: Token = None) -> int:
    """Lay a session aside; the next message resumes it."""
    from turnkeeper.cli.sessions import change_status

    return change_status(session, "pause", url, token)


@sessions.command
def resume(session: SessionRef, /, *, url: Server = None, token: Token = None) -> int:
    """Take up a paused session again."""
    from turnkeeper.cli.sessions import change_status

    return change_status(session, "resume", url, token)


@sessions.command
def close(session: SessionRef, /, *, url: Server = None, token: Token = None) -> int:
    """Take no more messages, and cancel what is under way. It stays readable."""
    from turnkeeper.cli.sessions import change_status

    return change_status(session, "close", url, token)


@sessions.command
def reset(session: SessionRef, /, *, url: Server = None, token: Token = None) -> int:
    """Let a session begin afresh: nothing said before is in reach of any later turn."""
    from turnkeeper.cli.sessions import reset_session

    return reset_session(session, url, token)


@sessions.command
def tail(
    session: SessionRef,
    /,
    *,
    begin: Annotated[
        str | None,
        Parameter(
            name="--from", help="start, or the number of an event to go on behind; now if left out.", show_default=False
        ),
    ] = None,
    json: Annotated[bool, Parameter(name="--json", help="One line of JSON for each event.", negative=())] = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Follow what happens in a session, who says what, until Ctrl-C."""
    from turnkeeper.cli.following import tail

    return tail(session, begin, as_json=json, url=url, token=token)


@sessions.command
def pin(session: SessionRef, mounts: Mounts, /, *, url: Server = None, token: Token = None) -> int:
    """Mount something for this session."""
    from turnkeeper.cli.sessions import change_mounts

    return change_mounts(session, "pin", mounts, url, token)


@sessions.command
def unpin(session: SessionRef, mounts: Mounts, /, *, url: Server = None, token: Token = None) -> int:
    """Do without something, whether it was pinned or inherited."""
    from turnkeeper.cli.sessions import change_mounts

    return change_mounts(session, "unpin", mounts, url, token)


@sessions.command
def show(
    session: SessionRef,
    /,
    *,
    turn: Annotated[
        int | None, Parameter(name="--turn", help="As it was after this turn, not as it is now.", show_default=False)
    ] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Show a session: its status, what it was forked from, and what was said last."""
    from turnkeeper.cli.sessions import show_session

    return show_session(session, turn, as_json=json, url=url, token=token)


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
def adopt(
    session: Annotated[str, Parameter(help="The id under which its client has kept it.")],
    state: Annotated[str, Parameter(help="The file with the state that the client carries, or - to read it.")],
    /,
    *,
    agent: Annotated[str | None, Parameter(name="--agent", help="Who answers.", show_default=False)] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Keep a session on the server that its client has kept until now, and print its new id."""
    from turnkeeper.cli.seals import adopt as take_over

    return take_over(session, state, agent, url, token)


@sessions.command
def release(
    session: SessionRef,
    /,
    *,
    to: Annotated[
        Path | None, Parameter(name=["--to", "-o"], help="The file to write it into.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Close a session and print the sealed state with which its client goes on under the same id."""
    from turnkeeper.cli.seals import release as give_out

    return give_out(session, to, url, token)


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
