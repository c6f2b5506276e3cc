"""Starting and checking packs on files, without a server."""

import json
from collections.abc import Iterable
from pathlib import Path

from turnkeeper.cli.say import complain, counting, harmless, put_out
from turnkeeper.packs.demos import demo_packs
from turnkeeper.packs.faults import PackFault
from turnkeeper.packs.files import read_files
from turnkeeper.packs.manifest import PACK_ID
from turnkeeper.packs.reading import read_pack
from turnkeeper.packs.starting import demo_files, starter_files


def init_pack(pack_id: str, *, into: Path | None, demo: str | None) -> int:
    """Write the files of a new pack into a folder that is not there yet, or is empty."""
    if not PACK_ID.fullmatch(pack_id):
        return complain("The id of a pack has letters, digits and _ . : - only, and begins with a letter or digit.")
    if demo is not None and demo not in demo_packs():
        return complain(f"There is no demo {demo!r}. There are {', '.join(demo_packs())}.")
    folder = into or Path(pack_id.replace(":", "-"))
    files = starter_files(pack_id) if demo is None else demo_files(pack_id, demo)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            return complain(f"{folder} is there already, and nothing is overwritten. Name another folder with --into.")
        _write(folder, files)
    except OSError as error:
        return complain(f"{folder} cannot be written: {error.strerror}.", code=1)
    put_out(f"{folder}: {counting(len(files), 'file', 'files')}. Check it with: turnkeeper packs check {folder}\n")
    return 0


def check_pack(path: Path, *, as_json: bool) -> int:
    """Tell everything that is wrong with a pack, warnings too. Only the latter leave the exit code at 0."""
    files, faults = read_files(path)
    pack = None
    if not faults:
        pack, faults = read_pack(files)
    if as_json:
        put_out(f"{json.dumps({'ref': pack.ref if pack else None, 'faults': [each.as_detail() for each in faults]})}\n")
    else:
        put_out("".join(f"{line}\n" for line in told_faults(str(path), faults)))
        put_out(f"{pack.ref}: {_counted(faults)}.\n" if pack else f"{harmless(str(path))}: {_counted(faults)}.\n")
    return 0 if pack else 1


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)


def told_faults(path: str, faults: Iterable[PackFault]) -> list[str]:
    """Where a terminal or an editor can jump to it: of a folder, the path of the file itself."""
    above = f"{path.rstrip('/')}/" if Path(path).is_dir() else ""
    return [harmless(f"{above}{fault}") for fault in faults]


def _counted(faults: Iterable[PackFault]) -> str:
    warnings = sum(1 for fault in faults if fault.is_warning)
    errors = sum(1 for fault in faults if not fault.is_warning)
    parts = [counting(errors, "fault", "faults")] if errors else []
    parts += [counting(warnings, "warning", "warnings")] if warnings else []
    return " and ".join(parts) or "no faults"
