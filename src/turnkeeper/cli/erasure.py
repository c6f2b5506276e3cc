"""Exporting and erasing sessions and users from the terminal, through a server."""

import json
import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.talk import HttpTalk


def export(kind: str, id: str, to: Path, url: str | None, token: str | None) -> int:
    """The file is there only when all of it is there; what is in it is nobody else's business."""

    def work(talk: HttpTalk) -> int:
        part = to.with_name(f"{to.name}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                for piece in talk.content(f"/{kind}/{quote(id, safe='')}/export"):
                    file.write(piece)
            part.replace(to)
        except OSError as error:
            return complain(f"{to} cannot be written: {error.strerror}")
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        put_out(f"{to}\n")
        return 0

    return with_server(url, token, work)


def erase(kind: str, id: str, is_sure: bool, url: str | None, token: str | None) -> int:
    if not is_sure:
        return complain("What is erased cannot be brought back. Say --yes if that is what you want.")

    def work(talk: HttpTalk) -> int:
        receipt = talk.asked("DELETE", f"/{kind}/{quote(id, safe='')}")
        put_out(json.dumps(receipt, indent=2, ensure_ascii=False) + "\n")
        return 0

    return with_server(url, token, work)
