"""The commands that look at a running house, and their flags."""

from typing import Annotated, Literal

from cyclopts import Parameter

from turnkeeper.cli.flags import AsJson, Server, Token


def nodes(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List the processes on the database of a server, and what each of them is running for this tenant."""
    from turnkeeper.cli.overview import show_nodes

    return show_nodes(as_json=json, url=url, token=token)


def traffic(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show what a server has counted for this tenant since it began: how much came, how fast, what was refused."""
    from turnkeeper.cli.overview import show_traffic

    return show_traffic(as_json=json, url=url, token=token)


def usage(
    *,
    by: Annotated[Literal["hour", "day"], Parameter(name="--by", help="How long a span is.")] = "hour",
    since: Annotated[
        str | None, Parameter(name="--since", help="From the span of this moment on.", show_default=False)
    ] = None,
    until: Annotated[str | None, Parameter(name="--until", help="Up to this moment.", show_default=False)] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Show what the runs of this tenant spent, span by span and by agent: tokens, cost and calls of tools."""
    from turnkeeper.cli.overview import show_usage
    from turnkeeper.cli.sessions import moment_in_utc

    asked = {"by": by, "since": moment_in_utc(since), "until": moment_in_utc(until)}
    return show_usage(asked, as_json=json, url=url, token=token)


def limits(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show how far this token may go right now, and what is left of it."""
    from turnkeeper.cli.overview import show_limits

    return show_limits(as_json=json, url=url, token=token)
