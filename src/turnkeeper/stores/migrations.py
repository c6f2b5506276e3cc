"""Bringing an old database to the schema of this code, one numbered file after the other."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from turnkeeper.errors import SchemaDamaged, SchemaTooNew


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    number: int
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


def migrations_of(package: str) -> tuple[Migration, ...]:
    """In order: `0001_first_tables.sql`, `0002_...`."""
    folder = files(package).joinpath("migrations")
    found = [
        Migration(number=int(file.name[:4]), name=file.name[5:-4], script=file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def migrations_to_run(known: tuple[Migration, ...], applied: Mapping[int, str], min_code: int) -> tuple[Migration, ...]:
    """What is still to be applied, given the checksums of what was.

    A database that is newer than this code is fine as long as its `min_code` is not: old and new nodes work side by
    side during an upgrade.
    """
    newest_known = known[-1].number
    if min_code > newest_known:
        raise SchemaTooNew(
            f"This database needs schema level {min_code}, this turnkeeper knows {newest_known}. Upgrade turnkeeper."
        )
    for migration in known:
        if applied.get(migration.number, migration.checksum) != migration.checksum:
            raise SchemaDamaged(
                f"Migration {migration.number:04d}_{migration.name} was applied with other contents than this "
                "turnkeeper ships. Restore the database, or use the turnkeeper that migrated it."
            )
    return tuple(migration for migration in known if migration.number not in applied)
