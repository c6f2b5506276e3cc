"""The commands about runs, and their flags."""

from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Limit, Server, Token

runs = App(name="runs", help="Look at runs, follow, answer and cancel them.")

RunRef = Annotated[str, Parameter(help="The id of the run.")]


@runs.command(name="list")
def list_runs(
    session: Annotated[str | None, Parameter(help="The id of a session.", show_default=False)] = None,
    /,
    *,
    status: Annotated[
        str | None,
        Parameter(name="--status", help="Such as live, or failed,timed_out.", show_default=False),
    ] = None,
    agent: Annotated[
        str | None, Parameter(name="--agent", help="Only those of this agent.", show_default=False)
    ] = None,
    since: Annotated[
        str | None, Parameter(name="--since", help="Only those accepted then or later.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, Parameter(name="--until", help="Only those accepted before.", show_default=False)
    ] = None,
    limit: Limit = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List runs, newest first: of a session, or of all that one may see."""
    from turnkeeper.cli.runs import list_runs
    from turnkeeper.cli.sessions import moment_in_utc

    sought = {"status": status, "agent": agent, "since": moment_in_utc(since), "until": moment_in_utc(until)}
    return list_runs(session, sought, limit, as_json=json, url=url, token=token)


@runs.command(name="show")
def show_run(run: RunRef, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show how a run stands, with its answer or its question. `turnkeeper explain` shows why."""
    from turnkeeper.cli.runs import show_run

    return show_run(run, as_json=json, url=url, token=token)


@runs.command(name="cancel")
def cancel_run(run: RunRef, /, *, url: Server = None, token: Token = None) -> int:
    """Stop a run, wherever it is."""
    from turnkeeper.cli.runs import cancel_run

    return cancel_run(run, url, token)


@runs.command(name="answer")
def answer_run(
    run: RunRef,
    text: Annotated[str, Parameter(help="The answer.", allow_leading_hyphen=True)],
    /,
    *,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Answer the question of a waiting run, and print what it says then."""
    from turnkeeper.cli.runs import answer_run

    return answer_run(run, text, as_json=json, url=url, token=token)


@runs.command(name="follow")
def follow_run(run: RunRef, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show the answer of a run as it comes, from its beginning to its end. Exits with 1 when it has no answer."""
    from turnkeeper.cli.following import follow_run

    return follow_run(run, as_json=json, url=url, token=token)
