"""No space left on the device that holds the conversations."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.faults.process import a_worker


def small_disk(folder: Path, command: str = "true") -> list[str]:
    """A command that runs the rest of its line with a disk of three megabytes in this folder."""
    shell = f'mount -t tmpfs -o size=3m,mode=0700 turnkeeper "{folder}" && {command} && exec "$@"'
    own_mounts = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    return [*own_mounts, "sh", "-c", shell, "sh"]


async def test_a_full_disk_is_a_clear_refusal_and_recovery_needs_no_restart(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    assert shutil.which("unshare"), "this test needs util-linux's unshare to make a small disk"
    made = subprocess.run([*small_disk(disk), "true"], capture_output=True, text=True)
    assert made.returncode == 0, f"this test makes a small disk in a namespace of its own, and may not: {made.stderr}"
    filler = str(disk / "filler")

    async with a_worker(str(disk / "conversations.db"), inside=small_disk(disk)) as worker:
        await worker.line("ready")
        first = await worker.ask("chat", text="hello", agent="counter")
        await worker.ask("fill", path=filler)
        refused = [await worker.ask("chat", text="x" * 20_000, session_id=first["session_id"]) for _ in range(3)]
        await worker.ask("free", path=filler)
        after = await worker.ask("chat", text="and now?", session_id=first["session_id"])

    assert {(answer.get("error"), answer.get("status")) for answer in refused} == {("store_unavailable", 503)}
    assert after["turn"] == 2
    assert after["text"] == "number 2"
