"""The commands about API keys, and their flags."""

from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token

keys = App(name="keys", help="Make API keys for people and programs, look at them, and revoke them.")
KeyId = Annotated[str, Parameter(help="The id of the key.")]


def _option(name: str, help: str) -> Parameter:
    return Parameter(name=name, help=help, show_default=False, negative=())


@keys.command
def create(
    name: Annotated[str, Parameter(help="What it is for, to tell keys apart.")],
    /,
    *,
    user: Annotated[str | None, _option("--user", "Whom it speaks for; you unless said otherwise.")] = None,
    role: Annotated[str | None, _option("--role", "owner, admin, member, viewer or agent; at most your own.")] = None,
    grant: Annotated[list[str] | None, _option("--grant", "A grant that it has; may be repeated.")] = None,
    limited_to: Annotated[
        list[str] | None, _option("--limited-to", "What it opens, such as sessions:read or '*:read'; may be repeated.")
    ] = None,
    session: Annotated[str | None, _option("--session", "Make it the key of an agent in this session alone.")] = None,
    expires: Annotated[str | None, _option("--expires", "After 30m, 12h, 90d, or at 2030-01-01T00:00:00Z.")] = None,
    per_second: Annotated[float | None, _option("--per-second", "How often it may be used, in the long run.")] = None,
    burst: Annotated[
        int | None, _option("--burst", "And how often at once; what two seconds allow if left out.")
    ] = None,
    tenant: Annotated[str | None, _option("--tenant", "Another tenant than yours; for an operator.")] = None,
    database: Annotated[
        str | None, _option("--database", "Make it in this database, without a server, as its operator.")
    ] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make a key and print its token, which is shown this once."""
    from turnkeeper.cli.keys import Wish, create_key

    wish = Wish(
        name=name,
        user=user,
        role=role,
        grants=grant,
        limited_to=limited_to,
        session_id=session,
        expires=expires,
        per_second=per_second,
        burst=burst,
        tenant=tenant,
    )
    return create_key(wish, database, as_json=json, url=url, token=token)


@keys.command(name="list")
def list_keys(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List keys, newest first: your own, or all of the tenant for its owner and admins."""
    from turnkeeper.cli.keys import list_keys

    return list_keys(as_json=json, url=url, token=token)


@keys.command
def revoke(key: KeyId, /, *, url: Server = None, token: Token = None) -> int:
    """Let a key open nothing any more."""
    from turnkeeper.cli.keys import revoke_key

    return revoke_key(key, url, token)
