"""What is different between two packs, each of them a path or one that was pushed."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.packs import told_faults
from turnkeeper.cli.pushed_packs import pushed_pack
from turnkeeper.cli.say import put_out
from turnkeeper.cli.talk import HttpTalk
from turnkeeper.packs.comparing import Differences, differences
from turnkeeper.packs.faults import PackFault
from turnkeeper.packs.files import read_files

Files = dict[str, str]


def compare_packs(old: str, new: str, *, as_json: bool, url: str | None, token: str | None) -> int:
    """What exists here is a path; everything else was pushed, and a server is asked for it."""
    if all(Path(side).exists() for side in (old, new)):
        return _compare(old, new, None, as_json=as_json)
    return with_server(url, token, lambda talk: _compare(old, new, talk, as_json=as_json))


def _compare(old: str, new: str, talk: HttpTalk | None, *, as_json: bool) -> int:
    sides = [_files_of(side, talk) for side in (old, new)]
    faulty = [line for side, (_, faults) in zip((old, new), sides, strict=True) for line in told_faults(side, faults)]
    if faulty:
        put_out("".join(f"{line}\n" for line in faulty))
        return 1
    compared = differences(sides[0][0], sides[1][0])
    shown: Callable[[Differences], str] = _as_json if as_json else _in_words
    put_out(shown(compared))
    return 0


def _files_of(side: str, talk: HttpTalk | None) -> tuple[Files, tuple[PackFault, ...]]:
    if talk is None or Path(side).exists():
        return read_files(Path(side))
    return pushed_pack(talk, side)["files"], ()


def _as_json(compared: Differences) -> str:
    return f"{json.dumps(asdict(compared))}\n"


def _in_words(compared: Differences) -> str:
    if not compared.files:
        return "Nothing is different.\n"
    lines = [f"{change.level}: {change.message}\n" for change in compared.changes]
    if compared.level is None:
        lines.append("One of the two has faults, so that what it means cannot be told. See: turnkeeper packs check\n")
    else:
        lines.append(f"All in all a {compared.level} change: the next version is {compared.next_version}.\n")
    return "".join([*lines, "\n", *(change.diff for change in compared.files)])
