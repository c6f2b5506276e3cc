"""The commands about units, and their flags."""

from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token

units = App(name="units", help="Look at what a session knows, and at units in their text form.")


File = Annotated[str, Parameter(help="The file with the text; - reads standard input.", allow_leading_hyphen=True)]
Kind = Annotated[
    Literal["context", "intent", "mixed"],
    Parameter(name="--kind", help="What the text is for: units, intents, or both; context unless said otherwise."),
]


@units.command
def check(file: File, /, *, kind: Kind = "context") -> int:
    """Say how many units a file holds, or everything that is wrong with it. Exits with 1 when something is."""
    from turnkeeper.cli.units import check_file

    return check_file(file, kind=kind)


@units.command(name="format")
def format_units(
    file: File,
    /,
    *,
    kind: Kind = "context",
    write: Annotated[bool, Parameter(name="--write", help="Put the file itself into this form.", negative=())] = False,
) -> int:
    """Print the units of a file in their canonical form. A file with faults stays as it is; they are told."""
    from turnkeeper.cli.units import format_file

    return format_file(file, kind=kind, write=write)


@units.command(name="list")
def list_units(
    session: Annotated[str, Parameter(help="The id of the session.")],
    /,
    *,
    all_epochs: Annotated[
        bool, Parameter(name="--all-epochs", help="Those from before the last reset too.", negative=())
    ] = False,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List what a session knows, in the order in which it came to know it."""
    from turnkeeper.cli.units_known import list_units

    return list_units(session, all_epochs=all_epochs, as_json=json, url=url, token=token)
