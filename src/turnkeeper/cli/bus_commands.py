"""The commands about a message bus, and their flags."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import Token

bus = App(name="bus", help="Show what is said on a message bus, as it happens; or say something.")

Bus = Annotated[
    str | None,
    Parameter(
        name="--url",
        help="The bus, ws://host:8181/core; that of a local server is found by itself.",
        env_var="TURNKEEPER_BUS_URL",
        show_default=False,
    ),
]


@bus.default
def watch(
    *,
    session: Annotated[
        str | None, Parameter(name="--session", help="Only what belongs to this session.", show_default=False)
    ] = None,
    topic: Annotated[
        list[str] | None,
        Parameter(name="--topic", help="Only these topics, such as 'ovos.intent.*'; may be repeated.", negative=()),
    ] = None,
    utterance: Annotated[
        str | None,
        Parameter(name="--utterance", help="Only the utterance whose id ends so, as shown.", show_default=False),
    ] = None,
    json: Annotated[
        bool, Parameter(name="--json", help="A line of JSON a message, for programs.", negative=())
    ] = False,
    url: Bus = None,
    token: Token = None,
) -> int:
    """Show what is said on a message bus, as it happens; or say something."""
    from turnkeeper.cli.bus import Wanted, watch

    wanted = Wanted(session=session, topics=tuple(topic or ()), utterance=utterance)
    return watch(url, token, wanted, as_json=json)


@bus.command
def say(
    text: Annotated[str, Parameter(help="What is said.")],
    /,
    *,
    session: Annotated[
        str | None,
        Parameter(name="--session", help="In this session; in `default` if left out.", show_default=False),
    ] = None,
    keep: Annotated[
        Path | None,
        Parameter(name="--keep", help="A file that keeps the session from one call to the next.", show_default=False),
    ] = None,
    json: Annotated[bool, Parameter(name="--json", help="As a line of JSON, for programs.", negative=())] = False,
    url: Bus = None,
    token: Token = None,
) -> int:
    """Say something on the bus and show what is spoken, how it ends, and the id of the run. Exits with 1 unless it
    was answered."""
    from turnkeeper.cli.bus_say import say

    return say(text, url, token, session=session, keep=keep, as_json=json)
