"""What a store promises about layers, users, definitions, contexts and layouts."""

import asyncio
from dataclasses import replace

import pytest

from tests.contract.backends import Backend, Refused
from tests.contract.builders import TENANT, a_kept_session, audit_of
from turnkeeper.errors import LastOwner, LayerExists, LayerNotFound, RevisionMoved, UserExists
from turnkeeper.model.definition import AgentDefinition, AgentTraits
from turnkeeper.model.ids import AgentId, LayerId, TenantId, UserId
from turnkeeper.model.layer import Layer, LayerTerms
from turnkeeper.model.principal import Role
from turnkeeper.model.scope import Level
from turnkeeper.model.user import User
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

GLOBEX = TenantId("globex")
ADA = UserId("ada")


def a_layer(level: Level = Level.PROJECT, id: str = "p1", tenant: TenantId = TENANT) -> Layer:
    project = LayerId("p1") if level is Level.OBJECTIVE else None
    made = {"created_by": ADA, "created_at": NOON, "updated_at": NOON}
    return Layer(tenant=tenant, level=level, id=LayerId(id), project_id=project, name=id, **made)  # type: ignore[arg-type]


def a_user(id: str, role: Role = Role.OWNER) -> User:
    return User(tenant=TENANT, id=UserId(id), role=role, created_by=ADA, created_at=NOON, updated_at=NOON)


async def test_a_layer_is_kept_once_and_read_by_its_tenant_alone(store: Store) -> None:
    layer = a_layer()
    await store.layers.create(layer, audit_of("create_layer"))

    with pytest.raises(LayerExists):
        await store.layers.create(layer, audit_of("create_layer"))
    with pytest.raises(LayerNotFound):
        await store.layers.get(GLOBEX, Level.PROJECT, layer.id)
    assert await store.layers.get(TENANT, Level.PROJECT, layer.id) == layer


async def test_the_layers_above_a_session_come_from_the_general_to_the_special(store: Store) -> None:
    above = [a_layer(Level.TENANT, TENANT), a_layer(), a_layer(Level.OBJECTIVE, "o1")]
    for layer in (*reversed(above), a_layer(id="p2"), a_layer(Level.TENANT, GLOBEX, GLOBEX)):
        await store.layers.create(layer, audit_of("create_layer"))

    assert await store.layers.above(TENANT, LayerId("p1"), LayerId("o1")) == above
    assert await store.layers.above(TENANT) == above[:1]
    assert [layer.tenant for layer in await store.layers.tenants(after=None, limit=5)] == [TENANT, GLOBEX]


async def test_of_two_changes_of_one_revision_only_the_first_is_kept(store: Store) -> None:
    layer = a_layer()
    await store.layers.create(layer, audit_of("create_layer"))
    changed = replace(layer, name="Port", terms=LayerTerms(prompt="Be brief."))

    kept = await store.layers.change(changed, audit_of("change_layer"), expected_revision=1)

    assert kept == replace(changed, revision=2) == await store.layers.get(TENANT, Level.PROJECT, layer.id)
    with pytest.raises(RevisionMoved):
        await store.layers.change(changed, audit_of("change_layer"), expected_revision=1)


async def test_the_last_acting_owner_stays_whoever_comes_at_once(store: Store) -> None:
    ada, ben = a_user("ada"), a_user("ben")
    for user in (ada, ben):
        await store.users.create(user, audit_of("create_user"))
    with pytest.raises(UserExists):
        await store.users.create(ada, audit_of("create_user"))

    demoted = await asyncio.gather(
        *(
            store.users.change(replace(user, role=Role.MEMBER), audit_of("change_user"), expected_version=1)
            for user in (ada, ben)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(each, LastOwner) for each in demoted) == 1
    assert sum(user.is_acting_owner for user in await store.users.list(TENANT, after=None, limit=9)) == 1


async def test_a_definition_is_put_in_place_of_the_one_before(store: Store) -> None:
    first = AgentDefinition(tenant=TENANT, id=AgentId("porter"), created_by=ADA, created_at=NOON, updated_at=NOON)
    await store.definitions.put_agent(first, audit_of("put_definition"), expected_version=None)
    second = replace(first, traits=AgentTraits(allowed_tools=("notes.*",)))

    kept = await store.definitions.put_agent(second, audit_of("put_definition"), expected_version=1)

    assert kept == replace(second, version=2) == await store.definitions.agent(TENANT, first.id)
    with pytest.raises(RevisionMoved):
        await store.definitions.put_agent(first, audit_of("put_definition"), expected_version=1)
    assert await store.definitions.remove_agent(TENANT, first.id, audit_of("remove_definition"))
    assert await store.definitions.agent(TENANT, first.id) is None


async def test_a_context_is_kept_once_and_never_changed(store: Store, backend: Backend) -> None:
    for _ in range(2):
        await store.contexts.keep(TENANT, "ab" * 32, "{}", at=NOON)

    assert await store.contexts.find(TENANT, "ab" * 32) == "{}"
    assert await store.contexts.find(GLOBEX, "ab" * 32) is None
    with pytest.raises(Refused, match="contexts is append-only"):
        await backend.execute("UPDATE contexts SET data = '[]'")


async def test_of_layouts_the_last_one_counts(store: Store) -> None:
    session = await a_kept_session(store)
    for layout in ("1", "2"):
        await store.layouts.save(TENANT, session.id, layout, at=NOON)

    assert await store.layouts.find(TENANT, session.id) == "2"
    assert await store.layouts.drop(TENANT, session.id)
    assert not await store.layouts.drop(TENANT, session.id)
