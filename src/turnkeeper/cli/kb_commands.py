"""The commands about knowledge bases, and their flags."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token

kbs = App(name="kbs", help="Make knowledge bases, fill them from files, and mount them.")
BaseRef = Annotated[str, Parameter(help="The id of the knowledge base.")]


@kbs.command(name="list")
def list_bases(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List the knowledge bases, newest first."""
    from turnkeeper.cli.kbs import list_bases

    return list_bases(as_json=json, url=url, token=token)


@kbs.command(name="show")
def show_base(base: BaseRef, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show a knowledge base and what it was filled from."""
    from turnkeeper.cli.kbs import show_base

    return show_base(base, as_json=json, url=url, token=token)


@kbs.command
def create(
    name: Annotated[str, Parameter(help="What it is called.")],
    /,
    *,
    parent: Annotated[
        str | None, Parameter(name="--parent", help="Begin with all that this one has.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make a knowledge base and print its id."""
    from turnkeeper.cli.kbs import create_base

    return create_base(name, parent, url, token)


@kbs.command
def add(
    base: BaseRef,
    /,
    *files: Annotated[Path, Parameter(help="Texts in UTF-8; .md is read as Markdown, .units as units.")],
    url: Server = None,
    token: Token = None,
) -> int:
    """Read files into a knowledge base. A file of the same name takes the place of the older one."""
    from turnkeeper.cli.kbs import add_sources

    return add_sources(base, files, url, token)


@kbs.command
def mount(
    session: Annotated[str, Parameter(help="The id of the session.")],
    base: BaseRef,
    /,
    *,
    url: Server = None,
    token: Token = None,
) -> int:
    """Let a session use a knowledge base as it is now."""
    from turnkeeper.cli.kbs import mount_base

    return mount_base(session, base, url, token)
