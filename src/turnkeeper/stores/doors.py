"""How a database refuses writes while it is moved, in the words that its triggers and its nodes share.

There is no switch that a turn would have to look at: while the door is open nothing of this is there. Closing it makes
triggers that refuse, and a table that says why.
"""

from turnkeeper.errors import DatabaseHalfFilled, DatabaseMoving, MoveRefused
from turnkeeper.ports.tables import Door, Rows, Shape

REFUSAL = "turnkeeper: moving"
SQLSTATE = "TKMOV"
TABLE = "turnkeeper_moving"

# Only intake puts anything here, so that closing it to newcomers leaves alone what is under way.
INTAKE = "runs"

# Tables that each store has for itself, and what of a unit is made anew.
OWN_TABLES = frozenset({"schema_info", "migrations", "doors", TABLE})
OWN_COLUMNS = frozenset({"search_row", "words"})
IS_FOUND = "is_found"

# A level that no turnkeeper ever has: also one that knows nothing of moving leaves a half-filled database alone.
NO_CODE = 2**31 - 1

# The name of an upload tells where its bytes lie.
COUNT_CONTENT_IN_FILES = "SELECT COUNT(*) FROM blobs WHERE substr(content, 1, 5) = 'file_'"

# Rows of these may be large, so that fewer are in memory at once.
WIDE = frozenset({"blob_pieces", "packs", "sources"})


def heed(door: Door, *, is_current: bool) -> None:
    """What a node does with what the door says. Raises DatabaseHalfFilled or DatabaseMoving."""
    if door is Door.FILLING:
        raise DatabaseHalfFilled
    if door is not Door.OPEN and not is_current:
        raise DatabaseMoving("The database is being moved to another place, or was, and is older than this turnkeeper.")


def rows_at_once(shape: Shape) -> int:
    return 8 if shape.table in WIDE else 500


def refuse_unfit(shape: Shape, rows: Rows) -> None:
    """PostgreSQL keeps no NUL in a text. Nothing that came in through a door of ours has one."""
    for row in rows:
        for column, value in zip(shape.columns, row, strict=True):
            if isinstance(value, str) and "\x00" in value:
                key = ", ".join(str(row[shape.columns.index(part)]) for part in shape.key)
                raise MoveRefused(f"{column} of {shape.table} ({key}) holds a NUL, which PostgreSQL cannot keep.")
