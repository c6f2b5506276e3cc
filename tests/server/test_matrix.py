"""Route by role by tenant: what is said beside each route holds for everybody who may come.

The table is read from the code; `docs/reference/access.md` shows it, and this walks through it over HTTP.
"""

import json
from pathlib import Path

import httpx2
import pytest

from tests.server.world import ACME, GLOBEX, PREFIX, WHO, Operation, World, a_world
from turnkeeper import Principal, Role, UserId
from turnkeeper.server.asking import HOLDERS, Right, asks
from turnkeeper.server.guard import GuardedRoute

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "access.md"
TITLE = "| Route | Asks for | owner | admin | member | agent | viewer | operator |"
WITHOUT_TOKEN = {("POST", f"{PREFIX}/login")}
"""Where a token is shown."""
BY_BINDING = {("POST", f"{PREFIX}/channels/{{channel}}/{{binding}}")}
"""Where a binding says whether a token is needed, or a signature."""
ENDLESS = "/feed"
ALWAYS = {f"{PREFIX}/me", f"{PREFIX}/login"}
"""Who one is, and leaving."""

ROLES = {role.value: Principal(tenant=ACME, user=UserId(f"some-{role}"), role=role) for role in Role}
OPERATOR = Principal(tenant=ACME, user=UserId("some-operator"), role=Role.VIEWER, is_operator=True)
PEOPLE = {**ROLES, "operator": OPERATOR}


def table(world: World) -> dict[tuple[str, str], tuple[str, ...]]:
    """What every route of the API asks for, as OpenAPI tells what is said beside it."""
    return {
        (method.upper(), path): tuple(operation["x-asks"])
        for path, operations in world.document["paths"].items()
        for method, operation in operations.items()
        if path.startswith(PREFIX) and (method.upper(), path) not in WITHOUT_TOKEN
    }


def may(wanted: tuple[str, ...], who: Principal) -> bool:
    """By the table of DESIGN: roles, and not the code under test."""
    held = {
        "read": True,
        "write": who.role is not Role.VIEWER,
        "manage": who.role in (Role.OWNER, Role.ADMIN),
        "operate": who.is_operator,
    }
    return any(held[each.partition(":")[2]] for each in wanted)


def client_of(world: World, principal: Principal | None) -> httpx2.AsyncClient:
    headers = {} if principal is None else {"Authorization": f"Bearer token-of-{principal.user}"}
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(world.app), base_url="http://house", headers=headers)


@pytest.fixture
def everyone(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = Principal(tenant=ACME, user=UserId("limited"), role=Role.OWNER, limited_to=frozenset({"nothing:read"}))
    more = {each.user: each for each in (*PEOPLE.values(), limited)}
    for name, principal in more.items():
        monkeypatch.setitem(WHO, name, principal)


def is_refused_at_the_door(status: int, body: str) -> bool:
    return status == 403 and "needs" in json.loads(body)


@pytest.mark.usefixtures("everyone")
async def test_every_role_gets_to_the_routes_that_are_for_it_and_to_no_other(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        wanted_by, wrong, asked = table(world), [], 0
        for operation in ordered(world):
            wanted = wanted_by.get((operation.method, operation.path))
            if wanted is None or (operation.method, operation.path) in BY_BINDING:
                continue
            for name, who in PEOPLE.items():
                if may(wanted, who) and operation.path.endswith(ENDLESS):
                    continue
                status, body = await world.ask(who.user, operation, world.ids)
                asked += 1
                is_let_in = not is_refused_at_the_door(status, body) and status != 401
                if is_let_in != may(wanted, who) or status >= 500:
                    wrong.append((operation.method, operation.path, name, status))

    assert wrong == []
    assert asked > 600
    assert len(wanted_by) > 120


@pytest.mark.usefixtures("everyone")
async def test_a_token_that_is_limited_elsewhere_gets_nowhere(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        for operation in world.operations():
            if (operation.method, operation.path) in WITHOUT_TOKEN | BY_BINDING:
                continue
            status, body = await world.ask("limited", operation, world.ids)
            if operation.path in ALWAYS:
                assert status < 300
                continue

            assert status == 403, (operation, status, body)
            assert operation.method == "HEAD" or json.loads(body)["needs"]


async def test_nobody_gets_anywhere_without_a_token_nor_by_the_id_of_a_session(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.clients["nobody"] = client_of(world, None)
        session = world.ids["session_id"]
        world.clients["who knows an id"] = client_of(world, None)
        world.clients["who knows an id"].headers["Authorization"] = f"Bearer {session}"
        for operation in world.operations():
            if (operation.method, operation.path) in WITHOUT_TOKEN | BY_BINDING:
                continue
            for who in ("nobody", "who knows an id"):
                status, body = await world.ask(who, operation, world.ids)

                assert status == 401, (who, operation, status, body)


async def test_owners_of_another_tenant_get_to_nothing_of_this_one(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        assert WHO["gus"].tenant == GLOBEX
        for operation in world.operations():
            named = {"session_id", "run_id", "base_id", "pointer_id", "approval_id", "binding_id", "key_id", "layer_id"}
            if not named & set(operation.names):
                continue
            status, _ = await world.ask("gus", operation, world.ids)

            assert status in (404, 422), (operation, status)


def test_a_route_that_does_not_say_who_may_ask_is_not_made() -> None:
    async def forgotten() -> None: ...

    with pytest.raises(ValueError, match="forgotten"):
        GuardedRoute("/forgotten", forgotten)


def test_a_right_that_there_is_not_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="fly"):
        asks("sessions:fly")


def test_the_page_is_what_the_code_says(access: list[str]) -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(f"{TITLE}\n|---|---|---|---|---|---|---|---|\n")[2]

    assert shown.splitlines() == access


@pytest.fixture
async def access(tmp_path: Path) -> list[str]:
    async with a_world(tmp_path) as world:
        return rows_of(table(world))


def rows_of(known: dict[tuple[str, str], tuple[str, ...]]) -> list[str]:
    rows = []
    for (method, path), wanted in sorted(known.items(), key=lambda each: (each[0][1], each[0][0])):
        rights = [Right(each.partition(":")[2]) for each in wanted]
        roles = (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.AGENT, Role.VIEWER)
        marks = ["yes" if any(role in HOLDERS.get(right, ()) for right in rights) else "" for role in roles]
        operator = "yes" if Right.OPERATE in rights else ""
        named = " or ".join(f"`{each}`" for each in wanted)
        rows.append(f"| `{method} {path}` | {named} | {' | '.join(marks)} | {operator} |")
    return rows


def ordered(world: World) -> list[Operation]:
    """What takes something away comes last, so that it is there for everybody."""
    return sorted(world.operations(), key=lambda each: each.method == "DELETE")
