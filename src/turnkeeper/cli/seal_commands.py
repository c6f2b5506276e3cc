"""The commands about the keys of seals, and their flags."""

from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Sure, Token

seals = App(name="seals", help="Look at the keys under which clients carry their state, rotate and retire them.")


@seals.command(name="list")
def list_seals(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List the keys, oldest first; the newest that is not retired seals."""
    from turnkeeper.cli.seals import list_seals

    return list_seals(as_json=json, url=url, token=token)


@seals.command
def rotate(*, url: Server = None, token: Token = None) -> int:
    """Seal with a new key from now on, and print its id. What was sealed before is opened as before."""
    from turnkeeper.cli.seals import rotate

    return rotate(url, token)


@seals.command
def retire(
    key: Annotated[str, Parameter(help="The id of the key.")],
    /,
    *,
    yes: Sure = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Destroy a key: what it has sealed is opened by nobody any more, and those clients begin anew."""
    from turnkeeper.cli.seals import retire

    return retire(key, yes, url, token)
