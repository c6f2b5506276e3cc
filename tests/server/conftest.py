"""One server for most tests of a run, with callers of two tenants."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.process import Api, ServerProcess, a_server

IDENTITIES = [
    {"token": "token-of-ada", "tenant": "acme", "user": "ada", "role": "owner"},
    {"token": "token-of-ben", "tenant": "acme", "user": "ben", "role": "member"},
    {"token": "token-of-cora", "tenant": "acme", "user": "cora", "role": "member", "grants": ["vouchers:buy"]},
    {
        "token": "token-of-gateway",
        "tenant": "acme",
        "user": "gateway",
        "role": "member",
        "grants": ["channels:deliver"],
    },
    {"token": "token-of-vera", "tenant": "acme", "user": "vera", "role": "viewer"},
    {"token": "token-of-gus", "tenant": "globex", "user": "gus", "role": "owner"},
    {
        "token": "token-of-old",
        "tenant": "acme",
        "user": "ada",
        "role": "owner",
        "expires_at": "2020-01-01T00:00:00Z",
    },
]


@dataclass(frozen=True)
class House:
    """A running server, its database, and a way in for everyone."""

    server: ServerProcess
    database: Path
    identities: Path

    def api(self, user: str | None) -> Api:
        return self.server.api(None if user is None else f"token-of-{user}")


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    identities = folder / "identities.json"
    identities.write_text(json.dumps(IDENTITIES))
    identities.chmod(0o600)
    database = folder / "conversations.db"
    with a_server(database, "--identities", str(identities)) as server:
        yield House(server, database, identities)
        assert server.stop() == 0, server.complained
        assert "Traceback" not in server.complained, server.complained


@pytest.fixture
def ada(house: House) -> Api:
    """Owner of the tenant acme."""
    return house.api("ada")


@pytest.fixture
def ben(house: House) -> Api:
    """A member of the tenant acme."""
    return house.api("ben")


@pytest.fixture
def gus(house: House) -> Api:
    """Owner of the tenant globex."""
    return house.api("gus")
