"""API keys on a server, or in a database before there is a server."""

import asyncio
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from turnkeeper.cli.asking import with_server
from turnkeeper.cli.say import complain, put_out
from turnkeeper.cli.settled import own_settings
from turnkeeper.cli.showing import Listing, put_json, show_list
from turnkeeper.cli.talk import HttpTalk, Told
from turnkeeper.errors import TurnkeeperError

UNITS = {"m": 60, "h": 3600, "d": 86_400}
_SPAN = re.compile(r"([1-9][0-9]{0,5})([mhd])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The key that somebody wants, as they typed it."""

    name: str
    user: str | None = None
    role: str | None = None
    grants: Sequence[str] | None = None
    limited_to: Sequence[str] | None = None
    session_id: str | None = None
    expires: str | None = None
    per_second: float | None = None
    burst: int | None = None
    tenant: str | None = None

    def body(self, now: datetime) -> dict[str, Any]:
        """What a server is asked for. Raises ValueError."""
        said: dict[str, Any] = {
            "name": self.name,
            "user": self.user,
            "role": self.role,
            "grants": self.grants,
            "limited_to": self.limited_to,
            "session_id": self.session_id,
            "expires_at": None if self.expires is None else moment_of(self.expires, now).isoformat(),
            "rate": self.rate,
            "tenant": self.tenant,
        }
        return {name: value for name, value in said.items() if value is not None}

    @property
    def rate(self) -> dict[str, Any] | None:
        if self.per_second is None:
            if self.burst is not None:
                raise ValueError("--burst goes with --per-second: how often in the long run")
            return None
        return {"per_second": self.per_second, "burst": self.burst or max(1, math.ceil(2 * self.per_second))}


def moment_of(text: str, now: datetime) -> datetime:
    """What `--expires` means. Raises ValueError."""
    if span := _SPAN.fullmatch(text):
        return now + timedelta(seconds=int(span[1]) * UNITS[span[2]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"--expires is a span such as 90d, or a moment such as 2030-01-01T00:00:00Z, not {text!r}"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def create_key(wish: Wish, database: str | None, *, as_json: bool, url: str | None, token: str | None) -> int:
    try:
        body = wish.body(datetime.now(UTC))
    except ValueError as error:
        return complain(str(error))
    if database is not None:
        return _created_in(database, body, as_json=as_json)

    def create(talk: HttpTalk) -> int:
        return _told(talk.asked("POST", "/keys", body), as_json=as_json)

    return with_server(url, token, create)


def _created_in(database: str, body: Mapping[str, Any], *, as_json: bool) -> int:
    from turnkeeper.keeper import Turnkeeper
    from turnkeeper.model.policy import Rate
    from turnkeeper.server.wire_keys import MadeKeyOut

    async def create() -> Told:
        given = dict(body)
        ends = given.pop("expires_at", None)
        rate = given.pop("rate", None)
        async with Turnkeeper(own_settings(database=database)).looking_in() as keeper:
            made = await keeper.keys.create(
                given.pop("name"),
                expires_at=None if ends is None else datetime.fromisoformat(ends),
                rate=None if rate is None else Rate(**rate),
                **given,
            )
        told: Told = json.loads(MadeKeyOut.made(made).model_dump_json())
        return told

    try:
        return _told(asyncio.run(create()), as_json=as_json)
    except ValueError as error:
        return complain(str(error))
    except TurnkeeperError as error:
        return complain(f"{error.detail} ({error.code})", code=1)


def _told(made: Told, *, as_json: bool) -> int:
    if as_json:
        put_json(made)
        return 0
    put_out(f"{made['token']}\n")
    complain(f"This is the token of {made['id']} for {made['user']}, {made['role']}. It is shown this once.", code=0)
    return 0


def list_keys(*, as_json: bool, url: str | None, token: str | None) -> int:
    none = "There are no keys yet. Make one with: turnkeeper keys create NAME"
    return show_list(Listing(path="/keys", row=_row, none=none), as_json=as_json, url=url, token=token)


def revoke_key(key_id: str, url: str | None, token: str | None) -> int:
    def revoke(talk: HttpTalk) -> int:
        revoked = talk.asked("POST", f"/keys/{quote(key_id, safe='')}/revoke")
        put_out(f"{revoked['id']} opens nothing any more.\n")
        return 0

    return with_server(url, token, revoke)


def _row(key: Told) -> list[str]:
    only = "only " + " ".join(key["limited_to"]) if key["limited_to"] else ""
    within = f"in {key['session_id']}" if key["session_id"] else ""
    return [key["id"], key["name"], f"{key['user']} ({key['role']})", _state(key), only, within]


def _state(key: Told) -> str:
    if key["revoked_at"]:
        return f"revoked {key['revoked_at'][:10]}"
    if key["expires_at"]:
        ends = datetime.fromisoformat(key["expires_at"])
        return f"{'expired' if ends <= datetime.now(UTC) else 'until'} {key['expires_at'][:10]}"
    return f"used {key['used_at'][:10]}" if key["used_at"] else "never used"
