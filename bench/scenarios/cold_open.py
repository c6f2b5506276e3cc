"""A new process opens a long session: open, and read the newest 20 messages, with no file page in memory."""

import os
import time

from bench.scenarios import Numbers, Task
from bench.work import WINDOW


async def measure(task: Task) -> Numbers:
    contender = task.contender.make()
    _drop_file_pages(task)
    began = time.perf_counter()
    await contender.open(task.place)
    opened = time.perf_counter()
    newest = await contender.newest(task.given["session"])
    read = time.perf_counter()
    assert len(newest) == WINDOW, f"{len(newest)} messages were read"
    await contender.close()
    return {"open_ms": (opened - began) * 1e3, "read_ms": (read - opened) * 1e3, "cold_ms": (read - began) * 1e3}


def _drop_file_pages(task: Task) -> None:
    for file in task.place.folder.iterdir():
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
