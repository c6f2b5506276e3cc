"""The commands about a whole database, and their flags."""

from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import Sure, flag

db = App(name="db", help="Look at a database, bring it up to date, move it, and give room back.")

Database = Annotated[str | None, flag("database", "A SQLite file or postgresql://...")]
AsJson = Annotated[bool, Parameter(name="--json", help="As JSON, for programs.", negative=())]


@db.command
def status(*, database: Database = None, json: AsJson = False) -> int:
    """Say which database it is, how large, how old its schema, how many rows, and who may write."""
    from turnkeeper.cli.db import show_status

    return show_status(database, as_json=json)


@db.command
def upgrade(
    *,
    database: Database = None,
    check: Annotated[
        bool, Parameter(name="--check", help="Change nothing; exit with 1 when something is pending.", negative=())
    ] = False,
) -> int:
    """Bring the schema up to date. Nodes do it by themselves when they start; this does it before. Safe to repeat."""
    from turnkeeper.cli.db import upgrade

    return upgrade(database, only_check=check)


@db.command
def vacuum(*, database: Database = None) -> int:
    """Give back the room of what was deleted. A SQLite file takes no writes while it lasts."""
    from turnkeeper.cli.db import vacuum

    return vacuum(database)


@db.command
def move(
    source: Annotated[str, Parameter(help="The database as it is: a SQLite file or postgresql://...")],
    target: Annotated[str, Parameter(help="Where it is to go: a file that is not there yet, or an empty database.")],
    /,
    *,
    grace: Annotated[
        float, Parameter(name="--grace", help="Seconds that runs have to finish, after newcomers are refused.")
    ] = 30.0,
) -> int:
    """Move everything into another database, and prove that it arrived.

    Nodes on the source go on reading, and answer 503 `moving` to whoever writes. Then start them with the target.

    A move that fails or is interrupted leaves the source open, and a target that no node opens.
    """
    from turnkeeper.cli.db_move import move

    return move(source, target, grace_seconds=grace)


@db.command
def reopen(
    source: Annotated[str, Parameter(help="The database that a move has closed.")],
    /,
    *,
    yes: Sure = False,
) -> int:
    """Let writes in again, after a move that was killed. One that was moved to its end needs --yes."""
    from turnkeeper.cli.db_move import reopen

    return reopen(source, although_moved=yes)
