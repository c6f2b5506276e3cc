"""API keys: who makes them for whom, what they open, and when they end."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from turnkeeper import Principal, Role, Settings, TenantId, Turnkeeper, UserId
from turnkeeper.errors import (
    EnvelopeInvalid,
    KeyNotFound,
    LayerNotFound,
    NotAllowed,
    NotAuthenticated,
    RateLimited,
    SessionNotFound,
    TokenExpired,
    TokenRevoked,
)
from turnkeeper.model.api_key import ApiKey
from turnkeeper.model.policy import Rate
from turnkeeper.testing.clock import SteppedClock

ACME = TenantId("acme")
ADA = Principal(tenant=ACME, user=UserId("ada"), role=Role.OWNER)
ADAM = Principal(tenant=ACME, user=UserId("adam"), role=Role.ADMIN)
BEN = Principal(tenant=ACME, user=UserId("ben"), grants=frozenset({"orders.read"}))
VERA = Principal(tenant=ACME, user=UserId("vera"), role=Role.VIEWER)
GUS = Principal(tenant=TenantId("globex"), user=UserId("gus"), role=Role.OWNER)
OPERATOR = Principal(tenant=ACME, user=UserId("root"), is_operator=True)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def house(settings: Settings, clock: SteppedClock) -> AsyncIterator[Turnkeeper]:
    async with Turnkeeper.open(settings=settings, clock=clock) as opened:
        yield opened


async def entering(keeper: Turnkeeper, token: str) -> ApiKey:
    key = await keeper.keys.found(token)
    await keeper.keys.admit(key)
    return key


async def test_a_token_opens_what_its_key_says_and_is_told_once(house: Turnkeeper) -> None:
    made = await house.keys.create("reports", principal=BEN)

    key = await entering(house, made.token)

    assert key.principal == Principal(
        tenant=ACME, user=UserId("ben"), grants=frozenset({"orders.read"}), key_id=made.key.id
    )
    listed = await house.keys.list(principal=BEN)
    assert [each.id for each in listed] == [made.key.id]
    assert made.token not in repr(listed)
    assert made.token not in repr(made.key)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: token[:-1],
        lambda token: token + "x",
        lambda token: token.replace("acme", "globex"),
        lambda token: token.upper(),
        lambda token: "tk_" + token,
        lambda token: token.rpartition("_")[0],
        lambda token: token.replace("_", "", 1),
        lambda _: "tk_",
        lambda _: "tk___",
        lambda _: "tk_\udcff_x_acme",
    ],
)
async def test_a_token_that_is_not_exactly_right_is_nobodys(house: Turnkeeper, spoil: Any) -> None:
    made = await house.keys.create("reports", principal=BEN)

    with pytest.raises(NotAuthenticated):
        await house.keys.found(spoil(made.token))


async def test_a_revoked_key_opens_nothing_from_that_moment_on(house: Turnkeeper) -> None:
    made = await house.keys.create("reports", principal=BEN)
    await entering(house, made.token)

    await house.keys.revoke(made.key.id, principal=BEN)

    with pytest.raises(NotAuthenticated):
        await entering(house, made.token)


async def test_a_key_that_was_revoked_on_another_node_is_good_for_a_second_at_most(
    house: Turnkeeper, settings: Settings, clock: SteppedClock
) -> None:
    made = await house.keys.create("reports", principal=BEN)
    await entering(house, made.token)
    async with Turnkeeper.open(settings=settings) as other:
        await other.keys.revoke(made.key.id, principal=BEN)

    clock.step(1)

    with pytest.raises(NotAuthenticated):
        await entering(house, made.token)


async def test_a_key_expires(house: Turnkeeper, clock: SteppedClock) -> None:
    made = await house.keys.create("reports", expires_at=clock.now() + DAY, principal=BEN)
    await entering(house, made.token)

    clock.step(DAY.total_seconds())

    with pytest.raises(TokenExpired):
        await entering(house, made.token)


async def test_a_key_has_a_rate_of_its_own(house: Turnkeeper, clock: SteppedClock) -> None:
    slow = await house.keys.create("slow", rate=Rate(per_second=0.001, burst=2), principal=BEN)
    other = await house.keys.create("other", principal=BEN)

    for _ in range(2):
        await entering(house, slow.token)
    with pytest.raises(RateLimited):
        await entering(house, slow.token)

    await entering(house, other.token)


async def test_it_is_told_when_a_key_was_used_last(house: Turnkeeper, clock: SteppedClock) -> None:
    made = await house.keys.create("reports", principal=BEN)
    await entering(house, made.token)
    first = clock.now()
    clock.step(30)
    await entering(house, made.token)
    soon = (await house.keys.get(made.key.id, principal=BEN)).used_at
    clock.step(31)
    await entering(house, made.token)

    assert soon == first
    assert (await house.keys.get(made.key.id, principal=BEN)).used_at == clock.now()


@pytest.mark.parametrize(
    ("maker", "wanted"),
    [
        (BEN, {"role": "admin"}),
        (BEN, {"user": "cora"}),
        (BEN, {"grants": ["orders.write"]}),
        (ADAM, {"role": "owner"}),
        (ADAM, {"role": "owner", "user": "ben"}),
        (VERA, {}),
        (Principal(tenant=ACME, user=UserId("bot"), role=Role.AGENT, session_id=None, limited_to=frozenset()), {}),
    ],
)
async def test_nobody_gives_more_than_they_have(house: Turnkeeper, maker: Principal, wanted: dict[str, Any]) -> None:
    if maker.limited_to is not None:
        wanted = {"limited_to": ["sessions:read"]}

    with pytest.raises(NotAllowed):
        await house.keys.create("more", principal=maker, **wanted)

    assert await house.keys.list(principal=ADA) == []


async def test_owner_and_admin_make_keys_for_others_and_see_all_of_them(house: Turnkeeper) -> None:
    made = await house.keys.create("for ben", user="ben", principal=ADAM)

    assert (made.key.user, made.key.role, made.key.created_by) == ("ben", Role.MEMBER, "adam")
    assert [key.id for key in await house.keys.list(principal=ADA)] == [made.key.id]
    assert [key.id for key in await house.keys.list(principal=BEN)] == [made.key.id]
    with pytest.raises(KeyNotFound):
        await house.keys.get(made.key.id, principal=Principal(tenant=ACME, user=UserId("cora")))
    with pytest.raises(KeyNotFound):
        await house.keys.revoke(made.key.id, principal=GUS)


async def test_an_operator_makes_keys_for_every_tenant(house: Turnkeeper) -> None:
    made = await house.keys.create("first", user="gus", role="owner", tenant="globex", principal=OPERATOR)

    assert (await entering(house, made.token)).principal.tenant == "globex"
    assert made.token.endswith("_globex")
    with pytest.raises(LayerNotFound):
        await house.keys.create("no", tenant="globex", principal=ADA)


async def test_a_limited_key_makes_no_key_that_opens_more(house: Turnkeeper) -> None:
    first = await house.keys.create("first", limited_to=["keys:write", "sessions:read"], principal=BEN)
    limited = first.key.principal

    inherited = await house.keys.create("second", principal=limited)

    assert inherited.key.limited_to == first.key.limited_to
    for wider in ("sessions:write", "sessions:*", "*:read", "*:*"):
        with pytest.raises(NotAllowed):
            await house.keys.create("third", limited_to=[wider], principal=limited)


@pytest.mark.parametrize("wanted", [[], ["sessions"], ["sessions:fly"], ["Sessions:read"], ["a:read"] * 1 + ["b"]])
async def test_limits_that_mean_nothing_are_refused(house: Turnkeeper, wanted: list[str]) -> None:
    with pytest.raises(EnvelopeInvalid):
        await house.keys.create("odd", limited_to=wanted, principal=ADA)


async def test_the_key_of_an_agent_reaches_its_session_and_no_other(house: Turnkeeper) -> None:
    own = await house.create_session(principal=BEN)
    other = await house.create_session(principal=BEN)

    made = await house.keys.create("bot", session_id=own.id, principal=BEN)

    agent = (await entering(house, made.token)).principal
    assert (agent.role, agent.session_id) == (Role.AGENT, own.id)
    assert (await house.session(own.id, principal=agent)).id == own.id
    with pytest.raises(SessionNotFound):
        await house.session(other.id, principal=agent)
    with pytest.raises(SessionNotFound):
        await house.keys.create("bot", session_id=own.id, principal=GUS)
    with pytest.raises(EnvelopeInvalid):
        await house.keys.create("bot", session_id=own.id, role="member", principal=BEN)


async def test_a_key_is_never_for_more_than_its_user_is_now(house: Turnkeeper) -> None:
    await house.users.create("ben", role="admin", principal=ADA)
    strong = await house.keys.create("strong", user="ben", role="admin", principal=ADA)
    weak = await house.keys.create("weak", user="ben", role="viewer", principal=ADA)

    await house.users.change("ben", role="member", principal=ADA)

    admitted = [await house.directory.admitted(each.key.principal) for each in (strong, weak)]
    assert [each.role for each in admitted] == [Role.MEMBER, Role.VIEWER]


async def test_the_key_of_an_agent_stays_one_whatever_role_its_user_is_given(house: Turnkeeper) -> None:
    session = await house.create_session(principal=BEN)
    made = await house.keys.create("bot", session_id=session.id, principal=BEN)

    await house.users.create("ben", role="owner", principal=ADA)

    assert (await house.directory.admitted(made.key.principal)).role is Role.AGENT


async def test_a_login_ends_with_the_key_that_it_was_made_with(house: Turnkeeper) -> None:
    made = await house.keys.create("mine", principal=BEN)
    login = await house.keys.log_in(made.key.principal, parent=made.key.id, lasts=DAY, until=None, trace_id=None)
    await entering(house, login.token)

    await house.keys.revoke(made.key.id, principal=BEN)

    with pytest.raises(NotAuthenticated):
        await entering(house, login.token)


async def test_a_login_lasts_no_longer_than_what_it_was_made_with(house: Turnkeeper, clock: SteppedClock) -> None:
    soon = clock.now() + timedelta(minutes=5)

    login = await house.keys.log_in(BEN, parent="other", lasts=DAY, until=soon, trace_id=None)

    assert login.key.expires_at == soon


async def test_logins_are_seen_and_ended_by_whom_they_are_of_and_by_who_sees_the_tenant(house: Turnkeeper) -> None:
    logins = [await house.keys.log_in(BEN, parent="other", lasts=DAY, until=None, trace_id=None) for _ in range(2)]
    seen = await house.keys.list(kind="login", principal=BEN)

    await house.keys.revoke(logins[0].key.id, principal=BEN)
    await house.keys.revoke(logins[1].key.id, principal=ADA)

    assert {each.id for each in seen} == {each.key.id for each in logins}
    assert await house.keys.list(principal=ADA) == []
    for login in logins:
        with pytest.raises(NotAuthenticated):
            await entering(house, login.token)


async def test_what_a_key_makes_ends_with_it_and_is_used_no_more_often(house: Turnkeeper, clock: SteppedClock) -> None:
    soon, slow = clock.now() + timedelta(minutes=1), Rate(per_second=1, burst=1)
    maker = await house.keys.create("maker", expires_at=soon, rate=slow, principal=BEN)
    holder = maker.key.principal
    child = await house.keys.create("child", rate=Rate(per_second=50, burst=50), principal=holder)
    grandchild = await house.keys.create("grandchild", principal=child.key.principal)

    await entering(house, grandchild.token)
    await house.keys.revoke(maker.key.id, principal=BEN)

    assert [(each.key.expires_at, each.key.rate) for each in (child, grandchild)] == [(soon, slow)] * 2
    for each in (child, grandchild):
        with pytest.raises(TokenRevoked):
            await entering(house, each.token)


async def test_a_token_that_is_bound_to_a_session_makes_no_keys(house: Turnkeeper) -> None:
    session = await house.create_session(principal=BEN)
    bound = (await house.keys.create("bot", session_id=session.id, principal=BEN)).key.principal

    with pytest.raises(NotAllowed):
        await house.keys.create("more", principal=bound)


async def test_an_operator_binds_no_key_to_a_session_of_another_tenant(house: Turnkeeper) -> None:
    session = await house.create_session(principal=OPERATOR)

    with pytest.raises(SessionNotFound):
        await house.keys.create("bot", session_id=session.id, tenant="globex", principal=OPERATOR)


async def test_the_key_of_an_agent_that_is_bound_to_nothing_writes_no_more_than_its_user(house: Turnkeeper) -> None:
    await house.users.create("ben", role="member", principal=ADA)
    made = await house.keys.create("robot", user="ben", role="agent", principal=ADA)

    await house.users.change("ben", role="viewer", principal=ADA)

    assert not (await house.directory.admitted(made.key.principal)).may_write


async def test_logging_out_ends_a_login_and_no_other_key(house: Turnkeeper) -> None:
    made = await house.keys.create("mine", principal=BEN)
    login = await house.keys.log_in(BEN, parent="other", lasts=DAY, until=None, trace_id=None)

    await house.keys.log_out(made.key.id, BEN)
    await house.keys.log_out("no such login", BEN)
    await house.keys.log_out(login.key.id, BEN)

    await entering(house, made.token)
    with pytest.raises(NotAuthenticated):
        await entering(house, login.token)


async def test_what_is_done_with_keys_is_audited_without_their_tokens(house: Turnkeeper) -> None:
    made = await house.keys.create("mine", principal=BEN)
    await house.keys.revoke(made.key.id, principal=ADA)

    told = [entry async for entry in house.audit_entries("acme")]

    said = [json.loads(entry.body) for entry in told]
    assert [(each["verb"], each["key"]) for each in said] == [
        ("create_key", made.key.id),
        ("revoke_key", made.key.id),
    ]
    assert made.token not in repr(told)


async def test_erasing_a_user_or_a_session_takes_its_keys_along(house: Turnkeeper) -> None:
    session = await house.create_session(principal=BEN)
    bound = await house.keys.create("bot", session_id=session.id, user="bot", principal=ADA)
    own = await house.keys.create("own", principal=BEN)
    theirs = await house.keys.create("theirs", user="cora", principal=ADA)

    await house.erase_session(session.id, principal=ADA)
    await house.erase_user("ben", principal=ADA)

    kept = {key.id for key in await house.keys.list(principal=ADA)}
    assert kept == {theirs.key.id}
    for gone in (bound, own):
        with pytest.raises(NotAuthenticated):
            await entering(house, gone.token)
