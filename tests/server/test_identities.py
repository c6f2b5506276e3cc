"""Who a token speaks for."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.server.process import ServerProcess, a_server
from turnkeeper.errors import NotAuthenticated, TokenExpired
from turnkeeper.model.principal import Role
from turnkeeper.server.identities import IdentitiesInvalid, StaticIdentities, read_identities, single_identity

ADA: dict[str, Any] = {"token": "token-of-ada", "tenant": "acme", "user": "ada", "role": "owner"}


async def test_a_token_speaks_for_its_entry(tmp_path: Path) -> None:
    identities = StaticIdentities(
        read_identities(written(tmp_path, [ADA, {**ADA, "token": "another-token", "user": "eve"}]))
    )

    principal = (await identities.shown("another-token")).principal

    assert (principal.tenant, principal.user, principal.role) == ("acme", "eve", Role.OWNER)


async def test_a_token_is_good_until_it_expires(tmp_path: Path) -> None:
    entries = read_identities(written(tmp_path, [{**ADA, "expires_at": "2030-01-01T00:00:00Z"}]))
    noon = datetime(2030, 1, 1, tzinfo=UTC)

    before = await StaticIdentities(entries, now=lambda: noon.replace(year=2029)).shown("token-of-ada")

    assert (before.principal.user, before.until) == ("ada", noon)
    with pytest.raises(TokenExpired):
        await StaticIdentities(entries, now=lambda: noon).shown("token-of-ada")


@pytest.mark.parametrize("token", ["", "token-of-ad", "token-of-ada ", "TOKEN-OF-ADA", "tökén", "\udcff"])
async def test_a_token_that_is_not_exactly_right_is_nobodys(token: str) -> None:
    with pytest.raises(NotAuthenticated):
        await StaticIdentities([single_identity("token-of-ada")]).shown(token)


def test_a_token_is_kept_as_its_hash_alone(tmp_path: Path) -> None:
    (identity,) = read_identities(written(tmp_path, [ADA]))

    assert identity.token_hash == hashlib.sha256(b"token-of-ada").digest()
    assert "token-of-ada" not in repr(identity)


async def test_a_file_may_hold_hashes_instead_of_tokens(tmp_path: Path) -> None:
    entry = {"token_sha256": hashlib.sha256(b"token-of-ada").hexdigest(), "tenant": "acme", "user": "ada"}

    identities = StaticIdentities(read_identities(written(tmp_path, [entry])))

    assert (await identities.shown("token-of-ada")).principal.role is Role.MEMBER


async def test_a_file_may_be_toml(tmp_path: Path) -> None:
    path = tmp_path / "identities.toml"
    path.write_text(
        '[[identities]]\ntoken = "token-of-ada"\ntenant = "acme"\nuser = "ada"\nexpires_at = 2020-01-01T00:00:00Z\n'
    )

    with pytest.raises(TokenExpired):
        await StaticIdentities(read_identities(path)).shown("token-of-ada")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**ADA, "token": 5}, "entry 2, token: must be at least"),
        ({**ADA, "token": "short"}, "entry 2, token: must be at least"),
        ({**ADA}, "entry 2, token: is the token of an entry before it"),
        ({"tenant": "acme", "user": "ada"}, "entry 2, token: give either token or token_sha256"),
        ({**ADA, "token_sha256": "00"}, "entry 2, token: give either token or token_sha256"),
        ({"token_sha256": "xyz", "tenant": "a", "user": "b"}, "entry 2, token_sha256: must be 64"),
        ({**ADA, "token": "token-of-eve", "tenant": ""}, "entry 2, tenant: must be a name"),
        ({**ADA, "token": "token-of-eve", "tenant": "-"}, "entry 2, tenant: the tenant '-' is reserved"),
        ({**ADA, "token": "token-of-eve", "user": None}, "entry 2, user: must be a name"),
        ({**ADA, "token": "token-of-eve", "role": "king"}, "entry 2, role: must be one of"),
        ({**ADA, "token": "token-of-eve", "expires_at": "soon"}, "entry 2, expires_at: must be a moment"),
        (
            {**ADA, "token": "token-of-eve", "expires_at": "2030-01-01T00:00:00"},
            "entry 2, expires_at: must be a moment",
        ),
        ({**ADA, "token": "token-of-eve", "expires": "2030"}, "entry 2, expires: is not a known field"),
        ("ada", "entry 2, must be an object"),
    ],
)
def test_a_fault_is_named_with_its_entry_and_field(tmp_path: Path, entry: Any, said: str) -> None:
    with pytest.raises(IdentitiesInvalid) as caught:
        read_identities(written(tmp_path, [ADA, entry]))

    assert said in str(caught.value)
    assert "token-of" not in str(caught.value)


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(IdentitiesInvalid) as caught:
        read_identities(written(tmp_path, [{**ADA, "role": "king", "user": ""}, {**ADA, "token": ""}]))

    assert str(caught.value).count("entry") == 3


@pytest.mark.parametrize("text", ["", "{", "5", "[]", '{"identities": {}}', "\udcff"])
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "identities.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(IdentitiesInvalid):
        read_identities(path)


def test_a_faulty_file_stops_the_server_from_starting(tmp_path: Path) -> None:
    path = written(tmp_path, [{**ADA, "role": "king"}])

    refused = ServerProcess("--port", "0", "--database", str(tmp_path / "x.db"), "--identities", str(path))

    assert refused.ended() == 2
    assert "entry 1, role: must be one of" in refused.complained


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o644, True), (0o640, True)])
def test_a_file_that_others_can_read_is_warned_of(tmp_path: Path, mode: int, warns: bool) -> None:
    path = written(tmp_path, [ADA])
    path.chmod(mode)

    with a_server(tmp_path / "x.db", "--identities", str(path)) as server:
        assert server.api("token-of-ada").chat("Hello")["turn"] == 1
        assert server.stop() == 0

    assert ("can be read by others" in server.complained) is warns


def written(folder: Path, entries: Any) -> Path:
    path = folder / "identities.json"
    path.write_text(json.dumps(entries))
    return path
