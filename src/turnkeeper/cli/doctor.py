"""What this host can do, what is wrong with its settings, and how to mend it. Changes nothing."""

import json
import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from turnkeeper.cli.doctor_database import look_at_database
from turnkeeper.cli.doctor_host import look_at_host
from turnkeeper.cli.doctor_house import look_at_house
from turnkeeper.cli.findings import Finding, Level, fault, warning, well
from turnkeeper.cli.say import counting, harmless, put_out
from turnkeeper.cli.settled import settled
from turnkeeper.server.identities import is_readable_by_others
from turnkeeper.settings import SettingsInvalid
from turnkeeper.settling import FIELDS, SECRET, Settled, file_for

WIDEST = 100
INDENT = 28


def examine(*, database: str | None, agents: Sequence[str], setup: Sequence[str], as_json: bool) -> int:
    findings = list(look_at_host())
    known: Settled | None = None
    try:
        known = settled(database=database)
    except SettingsInvalid as invalid:
        for _, said in invalid.faults:
            findings.append(fault("settings", said, "Correct it where it is said; nothing starts before."))
    else:
        findings += _look_at_config(known)
        findings += look_at_database(known.settings)
        findings += look_at_house(known.settings, agents=agents, setup=setup)
    put_out(_as_json(findings, known) if as_json else "".join(_page(findings, known)))
    return 1 if any(found.level is Level.FAULT for found in findings) else 0


def _look_at_config(known: Settled) -> Iterator[Finding]:
    file = file_for(os.environ, Path())
    if file is None:
        yield well("config", "no file; turnkeeper.toml in this folder, or --config FILE, would be one")
        return
    secrets = [name for name, source in known.sources.items() if name in SECRET and source.startswith(f"{file}:")]
    if secrets and is_readable_by_others(file):
        yield warning("config", f"{file} holds {', '.join(secrets)} and can be read by others", f"chmod 600 {file}")
    else:
        yield well("config", str(file))


def _as_json(findings: Sequence[Finding], known: Settled | None) -> str:
    told = {
        "findings": [asdict(found) for found in findings],
        "settings": [{"name": name, "value": value, "source": source} for name, value, source in _changed(known)],
    }
    return json.dumps(told, indent=2) + "\n"


def _page(findings: Sequence[Finding], known: Settled | None) -> Iterator[str]:
    for found in findings:
        mark = found.level.value.upper() if found.level is Level.FAULT else found.level.value
        yield _folded(f"{mark:9}{found.about:{INDENT - 10}} {found.said}")
        if found.mend:
            yield _folded(f"{'':{INDENT}}→ {found.mend}")
    yield "\n"
    changed = list(_changed(known))
    for name, value, source in changed:
        yield _folded(f"{'setting':9}{name:{INDENT - 10}} {value}  ({source})")
    if known is not None and not changed:
        yield "Every setting has its default.\n"
    faults, warnings = (sum(found.level is level for found in findings) for level in (Level.FAULT, Level.WARNING))
    told = f"{counting(faults, 'fault', 'faults')}, {counting(warnings, 'warning', 'warnings')}."
    yield f"\n{told if faults or warnings else 'All is well.'}\n"


def _changed(known: Settled | None) -> Iterator[tuple[str, str, str]]:
    if known is not None:
        yield from ((name, known.shown(name), known.sources[name]) for name in FIELDS if name in known.sources)


def _folded(line: str) -> str:
    columns = min(shutil.get_terminal_size().columns, WIDEST)
    wrapped = textwrap.wrap(
        harmless(line),
        width=columns,
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )
    return "\n".join(wrapped) + "\n"
