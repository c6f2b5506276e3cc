"""Identities by JSON Web Token."""

import asyncio
import base64
import hmac
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from tests.server.callers import a_house
from turnkeeper import Role, Settings
from turnkeeper.errors import IssuerUnavailable, NotAuthenticated, TokenExpired
from turnkeeper.server.identities import AllIdentities, StaticIdentities
from turnkeeper.server.jwt import IssuerKeys, JwtIdentities, jwt_identities

SECRET = "a secret of thirty-two bytes or more"
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
SOON = int(NOON.timestamp()) + 600
CLAIMS: dict[str, Any] = {"sub": "ada", "tid": "acme", "aud": "turnkeeper", "iss": "https://issuer", "exp": SOON}
RSA = RSAKey.generate_key(2048, {"kid": "first"})
CURVE = ECKey.generate_key("P-256", {"kid": "second"})
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "third"})


def by_secret(**more: Any) -> JwtIdentities:
    return JwtIdentities(audience="turnkeeper", secret=SECRET, now=lambda: NOON, **more)


def signed(claims: dict[str, Any], *, alg: str = "HS256", key: Any = None, **header: Any) -> str:
    return jwt.encode({"alg": alg, **header}, claims, key or OctKey.import_key(SECRET), algorithms=[alg])


def published(*keys: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(KeySet(list(keys)).as_dict(private=False)))
    return found


def part(of: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(of).encode()).rstrip(b"=").decode()


class Issuer:
    """Gives out keys, and counts how often it is asked."""

    def __init__(self, *keys: Any) -> None:
        self.keys, self.asked, self.is_away, self.now = keys, 0, False, 0.0

    async def __call__(self) -> dict[str, Any]:
        self.asked += 1
        if self.is_away:
            raise httpx2.ConnectError("gone")
        return published(*self.keys)

    def identities(self) -> JwtIdentities:
        keys = IssuerKeys(self, now=lambda: self.now)
        return JwtIdentities(audience="turnkeeper", keys=keys, now=lambda: NOON)


async def test_claims_become_a_caller() -> None:
    more = {"role": "admin", "scope": "orders.read orders.write", "grants": ["more"], "limited_to": ["*:read"]}

    shown = await by_secret(issuer="https://issuer").shown(signed({**CLAIMS, **more}))

    who = shown.principal
    assert (who.tenant, who.user, who.role, who.is_operator) == ("acme", "ada", Role.ADMIN, False)
    assert who.grants == {"orders.read", "orders.write", "more"}
    assert who.limited_to == frozenset({"*:read"})
    assert shown.until is not None


async def test_who_names_no_role_is_a_member_and_who_names_a_session_is_its_agent() -> None:
    plain = await by_secret().shown(signed(CLAIMS))
    bound = await by_secret().shown(signed({**CLAIMS, "session": "sess_1"}))

    assert plain.principal.role is Role.MEMBER
    assert (bound.principal.role, bound.principal.session_id) == (Role.AGENT, "sess_1")


@pytest.mark.parametrize(
    "change",
    [
        {"sub": None},
        {"sub": "not an id"},
        {"sub": 7},
        {"tid": None},
        {"tid": "-"},
        {"aud": "another"},
        {"aud": ["another"]},
        {"aud": None},
        {"iss": "https://another"},
        {"exp": None},
        {"exp": "tomorrow"},
        {"nbf": SOON},
        {"role": "king"},
        {"role": "owner", "session": "sess_1"},
        {"session": 7},
        {"scope": 7},
        {"grants": [7]},
        {"limited_to": {}},
    ],
)
async def test_claims_that_name_nobody_let_nobody_in(change: dict[str, Any]) -> None:
    claims = {name: value for name, value in {**CLAIMS, **change}.items() if value is not None}

    with pytest.raises(NotAuthenticated):
        await by_secret(issuer="https://issuer").shown(signed(claims))


async def test_a_token_runs_out() -> None:
    with pytest.raises(TokenExpired):
        await by_secret().shown(signed({**CLAIMS, "exp": NOON.timestamp() - 31}))


@pytest.mark.parametrize(
    "token",
    [
        signed(CLAIMS, key=OctKey.import_key("another secret of thirty-two bytes")),
        signed(CLAIMS)[:-4] + "AAAA",
        signed(CLAIMS, alg="HS512"),
        signed(CLAIMS, alg="RS256", key=RSA),
        f"{part({'alg': 'none'})}.{part(CLAIMS)}.",
        "",
        "a.b.c",
        "....",
        "\udcff.\udcff.\udcff",
        "e30.e30.e30",
    ],
)
async def test_what_the_issuer_did_not_sign_lets_nobody_in(token: str) -> None:
    with pytest.raises(NotAuthenticated):
        await by_secret().shown(token)


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
@pytest.mark.parametrize(("alg", "key"), [("RS256", RSA), ("PS256", RSA), ("ES256", CURVE), ("EdDSA", EDWARDS)])
async def test_public_keys_check_what_their_private_ones_have_signed(alg: str, key: Any) -> None:
    issuer = Issuer(RSA, CURVE, EDWARDS)

    shown = await issuer.identities().shown(signed(CLAIMS, alg=alg, key=key, kid=key.kid))

    assert shown.principal.user == "ada"


async def test_a_public_key_is_no_secret_to_sign_with() -> None:
    """Whoever can read the public key could sign with it, if HS256 were taken."""
    said = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(CLAIMS)}"
    signature = hmac.digest(RSA.as_pem(private=False), said.encode(), "sha256")
    forged = f"{said}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"

    with pytest.raises(NotAuthenticated):
        await Issuer(RSA).identities().shown(forged)


async def test_a_new_key_of_the_issuer_is_found_without_asking_too_often() -> None:
    issuer = Issuer(RSA)
    identities = issuer.identities()
    await identities.shown(signed(CLAIMS, alg="RS256", key=RSA, kid="first"))
    issuer.keys = (RSA, CURVE)
    new = signed(CLAIMS, alg="ES256", key=CURVE, kid="second")

    for _ in range(5):
        with pytest.raises(NotAuthenticated):
            await identities.shown(new)
    soon = issuer.asked
    issuer.now = 31.0
    shown = await identities.shown(new)

    assert (soon, issuer.asked, shown.principal.user) == (1, 2, "ada")


async def test_known_keys_are_good_while_the_issuer_is_away() -> None:
    issuer = Issuer(RSA)
    identities = issuer.identities()
    token = signed(CLAIMS, alg="RS256", key=RSA, kid="first")
    await identities.shown(token)
    issuer.is_away, issuer.now = True, 3600.0

    assert (await identities.shown(token)).principal.user == "ada"
    with pytest.raises(IssuerUnavailable):
        await Issuer.identities(issuer).shown(token)


async def test_keys_come_from_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps(published(RSA)))
    settings = Settings(jwks=str(path), jwt_audience="turnkeeper")
    claims = {**CLAIMS, "exp": 4_000_000_000}

    shown = await jwt_identities(settings).shown(signed(claims, alg="RS256", key=RSA, kid="first"))

    assert shown.principal.user == "ada"


@pytest.mark.parametrize(
    "said",
    [
        {"jwt_secret": "short", "jwt_audience": "us"},
        {"jwt_secret": SECRET},
        {"jwks": "keys.json"},
        {"jwks": "keys.json", "jwt_secret": SECRET, "jwt_audience": "us"},
    ],
)
def test_settings_that_would_let_strangers_in_are_refused(said: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"jwt_|jwks"):
        Settings(**said)  # type: ignore[arg-type]


async def test_a_token_of_the_issuer_opens_the_door(tmp_path: Path) -> None:
    identities = JwtIdentities(audience="turnkeeper", secret=SECRET)
    claims = {**CLAIMS, "exp": 4_000_000_000}
    async with a_house(tmp_path, identities=identities) as house:
        caller = house.with_token(signed(claims))

        said = await caller("POST", "/chat", {"message": "Hello"})
        stranger = house.with_token(signed({**claims, "tid": "globex"}))

        assert said.status_code == 200
        assert (await stranger("GET", f"/sessions/{said.json()['session_id']}")).status_code == 404


async def test_an_expired_token_is_told_as_one_beside_other_identities() -> None:
    both = AllIdentities(StaticIdentities([]), by_secret())

    with pytest.raises(TokenExpired):
        await both.shown(signed({**CLAIMS, "exp": NOON.timestamp() - 31}))
    with pytest.raises(NotAuthenticated):
        await both.shown("nobody's")


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), -1, 1e300])
async def test_a_moment_that_is_none_lets_nobody_in(moment: float) -> None:
    with pytest.raises(NotAuthenticated):
        await by_secret().shown(signed({**CLAIMS, "exp": moment}))


async def test_an_issuer_that_is_away_is_asked_once_for_all_who_wait() -> None:
    issuer = Issuer(RSA)
    issuer.is_away = True
    identities = issuer.identities()
    token = signed(CLAIMS, alg="RS256", key=RSA, kid="first")

    refused = await asyncio.gather(*(identities.shown(token) for _ in range(20)), return_exceptions=True)

    assert {type(each) for each in refused} == {IssuerUnavailable}
    assert issuer.asked == 1


async def test_a_token_that_names_no_key_is_checked_with_each() -> None:
    issuer = Issuer(RSA, CURVE)

    shown = await issuer.identities().shown(signed(CLAIMS, alg="ES256", key=CURVE))

    assert shown.principal.user == "ada"
