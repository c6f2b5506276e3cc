"""The commands about channels, bindings, contacts and deliveries, and their flags."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token

bindings = App(name="bindings", help="Make and remove doors for mail, short messages, calls and webhooks.")
contacts = App(name="contacts", help="Say who writes from an address, and in which session they go on.")
deliveries = App(name="deliveries", help="Look at what went out through channels, and send it again.")

BindingId = Annotated[str, Parameter(help="The id of the binding.")]
Agent = Annotated[str | None, Parameter(name="--agent", help="Who answers in a new session.", show_default=False)]
Pack = Annotated[str | None, Parameter(name="--pack", help="ID, or ID@VERSION.", show_default=False)]
Grants = Annotated[
    list[str] | None,
    Parameter(name="--grant", help="What messages may hold at most; may be repeated.", negative=()),
]
AdapterSettings = Annotated[
    list[str] | None,
    Parameter(name="--setting", help="name=value, a setting of its channel; may be repeated.", negative=()),
]
SecretFile = Annotated[
    Path | None,
    Parameter(
        name="--secret-file", help="With a secret in it requests need a signature, and no token.", show_default=False
    ),
]
ReplySecretFile = Annotated[
    Path | None,
    Parameter(name="--reply-secret-file", help="With the secret that signs posted replies.", show_default=False),
]


def channels(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List the channels that a binding can be made for."""
    from turnkeeper.cli.channels import list_channels

    return list_channels(as_json=json, url=url, token=token)


@bindings.command(name="list")
def list_bindings(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List the bindings, newest first."""
    from turnkeeper.cli.channels import list_bindings

    return list_bindings(as_json=json, url=url, token=token)


@bindings.command(name="show")
def show_binding(binding: BindingId, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show what a binding says; its secrets are never shown."""
    from turnkeeper.cli.channels import show_binding

    return show_binding(binding, as_json=json, url=url, token=token)


@bindings.command(name="add")
def add_binding(
    channel: Annotated[str, Parameter(help="Such as email, sms, voice or webhook.")],
    name: Annotated[str, Parameter(help="What it is called.")],
    /,
    *,
    agent: Agent = None,
    pack: Pack = None,
    guests: Annotated[
        bool, Parameter(name="--guests", help="Let strangers in as guests instead of refusing them.", negative=())
    ] = False,
    grant: Grants = None,
    setting: AdapterSettings = None,
    secret_file: SecretFile = None,
    reply: Annotated[
        str,
        Parameter(name="--reply", help="smtp, a URL that replies are posted to, or none.", show_default=False),
    ] = "none",
    reply_secret_file: ReplySecretFile = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make a binding and print its id, and the address to send to."""
    from turnkeeper.cli.channels import WantedBinding, add_binding

    wanted = WantedBinding(
        channel=channel,
        name=name,
        agent=agent,
        pack=pack,
        lets_guests_in=guests,
        grants=tuple(grant or ()),
        settings=tuple(setting or ()),
        secret_file=secret_file,
        reply=reply,
        reply_secret_file=reply_secret_file,
    )
    return add_binding(wanted, url, token)


@bindings.command(name="change")
def change_binding(
    binding: BindingId,
    /,
    *,
    name: Annotated[str | None, Parameter(name="--name", help="What it is called.", show_default=False)] = None,
    agent: Agent = None,
    pack: Pack = None,
    guests: Annotated[
        bool | None, Parameter(name="--guests", help="Whether strangers come in as guests.", show_default=False)
    ] = None,
    grant: Grants = None,
    setting: AdapterSettings = None,
    secret_file: SecretFile = None,
    reply: Annotated[
        str | None,
        Parameter(name="--reply", help="smtp, a URL that replies are posted to, or none.", show_default=False),
    ] = None,
    reply_secret_file: ReplySecretFile = None,
    enabled: Annotated[bool | None, Parameter(name="--enabled", help="Whether it is open.", show_default=False)] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Change what is given, and leave the rest as it is; from the next message on."""
    from turnkeeper.cli.channels import WantedBinding, change_binding

    wanted = WantedBinding(
        name=name,
        agent=agent,
        pack=pack,
        lets_guests_in=guests,
        grants=None if grant is None else tuple(grant),
        settings=tuple(setting or ()),
        secret_file=secret_file,
        reply=reply,
        reply_secret_file=reply_secret_file,
        enabled=enabled,
    )
    return change_binding(binding, wanted, url, token)


@bindings.command(name="remove")
def remove_binding(binding: BindingId, /, *, url: Server = None, token: Token = None) -> int:
    """Take a binding away, with its contacts."""
    from turnkeeper.cli.channels import remove_binding

    return remove_binding(binding, url, token)


@contacts.command(name="add")
def add_contact(
    binding: BindingId,
    address: Annotated[str, Parameter(help="As its channel writes it: ann@example.org, +14155550100.")],
    user: Annotated[str, Parameter(help="Who that is.")],
    /,
    *,
    session: Annotated[
        str | None,
        Parameter(
            name="--session", help="Go on in this session of the user; a new one if left out.", show_default=False
        ),
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Say who writes from an address, or say something else about it."""
    from turnkeeper.cli.channels import add_contact

    return add_contact(binding, address, user, session, url, token)


@contacts.command(name="remove")
def remove_contact(
    binding: BindingId,
    address: Annotated[str, Parameter(help="The address that is to be known no longer.")],
    /,
    *,
    url: Server = None,
    token: Token = None,
) -> int:
    """Know an address no longer."""
    from turnkeeper.cli.channels import remove_contact

    return remove_contact(binding, address, url, token)


@contacts.command(name="list")
def list_contacts(binding: BindingId, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List who is known at a binding, by address."""
    from turnkeeper.cli.channels import list_contacts

    return list_contacts(binding, as_json=json, url=url, token=token)


@deliveries.command(name="list")
def list_deliveries(
    *,
    session: Annotated[
        str | None, Parameter(name="--session", help="Only those of this session.", show_default=False)
    ] = None,
    status: Annotated[
        Literal["pending", "sending", "sent", "failed", "unknown"] | None,
        Parameter(name="--status", help="Only those in this status.", show_default=False),
    ] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List what goes out through channels, newest first, without what it says."""
    from turnkeeper.cli.channels import list_deliveries

    return list_deliveries(session, status, as_json=json, url=url, token=token)


@deliveries.command(name="retry")
def retry_delivery(
    delivery: Annotated[str, Parameter(help="The id of the delivery.")],
    /,
    *,
    url: Server = None,
    token: Token = None,
) -> int:
    """Send one again that failed, or of which nobody knows; that one may then arrive twice."""
    from turnkeeper.cli.channels import retry_delivery

    return retry_delivery(delivery, url, token)
