"""Tenants, projects, objectives and users."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from turnkeeper.errors import (
    LastOwner,
    LayerExists,
    LayerNotActive,
    LayerNotFound,
    MountNotFound,
    NotAllowed,
    RevisionMoved,
    UserExists,
    UserNotFound,
)
from turnkeeper.keeping.layers import Layers
from turnkeeper.model.layer import Layer, LayerTerms
from turnkeeper.model.principal import Principal
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import NOT_MODIFIED, IdCursor, IfMatch, Limit, etag_of, version_of
from turnkeeper.server.wire import Id, Page, page_of
from turnkeeper.server.wire_layers import (
    LayerChangeIn,
    LayerIn,
    LayerOut,
    ObjectiveIn,
    TenantChangeIn,
    TenantIn,
    UserChangeIn,
    UserIn,
    UserOut,
)

MAKING = (NotAllowed, LayerExists, LayerNotFound, LayerNotActive, MountNotFound)

OfTenant = Annotated[Id | None, Query(description="Whose users; for an operator.")]

tenants = APIRouter(prefix="/tenants", tags=["scope"], route_class=GuardedRoute)


@tenants.post(
    "", name="create_tenant", status_code=201, response_model=LayerOut, responses=problems(*WITH_BODY, *MAKING)
)
@asks("tenants:operate")
@once
async def create_tenant(
    request: Request, response: Response, body: TenantIn, keeper: Keeper, caller: Caller
) -> LayerOut:
    """Make a tenant; for an operator. Its tokens name it by this id."""
    layer = await keeper.tenants.create(
        body.name,
        id=body.id,
        terms=body.terms.applied_to(LayerTerms()),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{layer.id}"
    return _told(response, layer)


@tenants.get("", name="list_tenants", response_model=Page[LayerOut], responses=problems(NotAllowed))
@asks("tenants:operate")
async def list_tenants(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None) -> Page[LayerOut]:
    """All tenants by their ids; for an operator."""
    found = await keeper.tenants.list(principal=caller, cursor=cursor, limit=limit + 1)
    return page_of([LayerOut.of(layer) for layer in found], limit, [layer.id for layer in found])


@tenants.get(
    "/{layer_id}", name="read_tenant", response_model=LayerOut, responses=problems(LayerNotFound) | NOT_MODIFIED
)
@asks("tenants:read")
async def read_tenant(layer_id: str, response: Response, keeper: Keeper, caller: Caller) -> LayerOut:
    """The ETag is its revision."""
    return _told(response, await keeper.tenants.get(layer_id, principal=caller))


@tenants.patch(
    "/{layer_id}",
    name="change_tenant",
    response_model=LayerOut,
    responses=problems(*WITH_BODY, LayerNotFound, RevisionMoved, MountNotFound, NotAllowed),
)
@asks("tenants:manage", "tenants:operate")
async def change_tenant(
    layer_id: str,
    request: Request,
    response: Response,
    body: TenantChangeIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> LayerOut:
    """Sessions keep what they inherited until they are rebased; what is excluded is gone at once."""
    return await _changed(keeper.tenants, layer_id, request, response, body, caller, if_match)


projects = APIRouter(prefix="/projects", tags=["scope"], route_class=GuardedRoute)


@projects.post(
    "", name="create_project", status_code=201, response_model=LayerOut, responses=problems(*WITH_BODY, *MAKING)
)
@asks("projects:manage")
@once
async def create_project(
    request: Request, response: Response, body: LayerIn, keeper: Keeper, caller: Caller
) -> LayerOut:
    """Make a project in one's tenant; for its owner and admins."""
    layer = await keeper.projects.create(
        body.name,
        id=body.id,
        terms=body.terms.applied_to(LayerTerms()),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{layer.id}"
    return _told(response, layer)


@projects.get("", name="list_projects", response_model=Page[LayerOut], responses=problems(NotAllowed))
@asks("projects:read")
async def list_projects(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None) -> Page[LayerOut]:
    """The projects of one's tenant, newest first."""
    found = await keeper.projects.list(principal=caller, cursor=cursor, limit=limit + 1)
    return page_of([LayerOut.of(layer) for layer in found], limit, [layer.id for layer in found])


@projects.get(
    "/{layer_id}", name="read_project", response_model=LayerOut, responses=problems(LayerNotFound) | NOT_MODIFIED
)
@asks("projects:read")
async def read_project(layer_id: str, response: Response, keeper: Keeper, caller: Caller) -> LayerOut:
    """The ETag is its revision."""
    return _told(response, await keeper.projects.get(layer_id, principal=caller))


@projects.patch(
    "/{layer_id}",
    name="change_project",
    response_model=LayerOut,
    responses=problems(*WITH_BODY, LayerNotFound, RevisionMoved, MountNotFound, NotAllowed),
)
@asks("projects:manage", "projects:operate")
async def change_project(
    layer_id: str,
    request: Request,
    response: Response,
    body: LayerChangeIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> LayerOut:
    """Sessions keep what they inherited until they are rebased; what is excluded is gone at once."""
    return await _changed(keeper.projects, layer_id, request, response, body, caller, if_match)


objectives = APIRouter(prefix="/objectives", tags=["scope"], route_class=GuardedRoute)


@objectives.post(
    "", name="create_objective", status_code=201, response_model=LayerOut, responses=problems(*WITH_BODY, *MAKING)
)
@asks("objectives:manage")
@once
async def create_objective(
    request: Request, response: Response, body: ObjectiveIn, keeper: Keeper, caller: Caller
) -> LayerOut:
    """Make an objective of a project; for owner and admins of the tenant."""
    layer = await keeper.objectives.create(
        body.name,
        id=body.id,
        project_id=body.project_id,
        terms=body.terms.applied_to(LayerTerms()),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["Location"] = f"{request.url.path}/{layer.id}"
    return _told(response, layer)


@objectives.get("", name="list_objectives", response_model=Page[LayerOut], responses=problems(NotAllowed))
@asks("objectives:read")
async def list_objectives(
    keeper: Keeper,
    caller: Caller,
    limit: Limit = 50,
    cursor: IdCursor = None,
    project_id: Annotated[Id | None, Query()] = None,
) -> Page[LayerOut]:
    """The objectives of one's tenant, newest first; of one project, or of all."""
    found = await keeper.objectives.list(principal=caller, cursor=cursor, limit=limit + 1, project_id=project_id)
    return page_of([LayerOut.of(layer) for layer in found], limit, [layer.id for layer in found])


@objectives.get(
    "/{layer_id}", name="read_objective", response_model=LayerOut, responses=problems(LayerNotFound) | NOT_MODIFIED
)
@asks("objectives:read")
async def read_objective(layer_id: str, response: Response, keeper: Keeper, caller: Caller) -> LayerOut:
    """The ETag is its revision."""
    return _told(response, await keeper.objectives.get(layer_id, principal=caller))


@objectives.patch(
    "/{layer_id}",
    name="change_objective",
    response_model=LayerOut,
    responses=problems(*WITH_BODY, LayerNotFound, RevisionMoved, MountNotFound, NotAllowed),
)
@asks("objectives:manage", "objectives:operate")
async def change_objective(
    layer_id: str,
    request: Request,
    response: Response,
    body: LayerChangeIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> LayerOut:
    """Sessions keep what they inherited until they are rebased; what is excluded is gone at once."""
    return await _changed(keeper.objectives, layer_id, request, response, body, caller, if_match)


users = APIRouter(prefix="/users", tags=["scope"], route_class=GuardedRoute)


@users.post(
    "",
    name="create_user",
    status_code=201,
    response_model=UserOut,
    responses=problems(*WITH_BODY, NotAllowed, UserExists, LayerNotFound),
)
@asks("users:manage", "users:operate")
@once
async def create_user(
    request: Request, response: Response, body: UserIn, keeper: Keeper, caller: Caller, tenant: OfTenant = None
) -> UserOut:
    """Say which role a user of one's tenant has; from then on that counts, and not what the token says."""
    trace_id = exchange_of(request).trace_id
    user = await keeper.users.create(
        body.id, role=body.role, name=body.name, tenant=tenant, principal=caller, trace_id=trace_id
    )
    response.headers["Location"] = f"{request.url.path}/{user.id}"
    response.headers["ETag"] = etag_of(user.version)
    return UserOut.of(user)


@users.get("", name="list_users", response_model=Page[UserOut], responses=problems(NotAllowed, LayerNotFound))
@asks("users:manage", "users:operate")
async def list_users(
    keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None, tenant: OfTenant = None
) -> Page[UserOut]:
    """By their ids."""
    found = await keeper.users.list(tenant=tenant, principal=caller, cursor=cursor, limit=limit + 1)
    return page_of([UserOut.of(user) for user in found], limit, [user.id for user in found])


@users.get(
    "/{user_id}",
    name="read_user",
    response_model=UserOut,
    responses=problems(UserNotFound, LayerNotFound) | NOT_MODIFIED,
)
@asks("users:read")
async def read_user(
    user_id: str, response: Response, keeper: Keeper, caller: Caller, tenant: OfTenant = None
) -> UserOut:
    """The ETag is its version."""
    user = await keeper.users.get(user_id, tenant=tenant, principal=caller)
    response.headers["ETag"] = etag_of(user.version)
    return UserOut.of(user)


@users.patch(
    "/{user_id}",
    name="change_user",
    response_model=UserOut,
    responses=problems(*WITH_BODY, NotAllowed, UserNotFound, LayerNotFound, RevisionMoved, LastOwner),
)
@asks("users:manage", "users:operate")
async def change_user(
    user_id: str,
    request: Request,
    response: Response,
    body: UserChangeIn,
    keeper: Keeper,
    caller: Caller,
    tenant: OfTenant = None,
    if_match: IfMatch = None,
) -> UserOut:
    """Another name, role or status, within a second on every node."""
    user = await keeper.users.change(
        user_id,
        name=body.name,
        role=body.role,
        status=body.status,
        tenant=tenant,
        expected_version=version_of(if_match),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["ETag"] = etag_of(user.version)
    return UserOut.of(user)


def _told(response: Response, layer: Layer) -> LayerOut:
    response.headers["ETag"] = etag_of(layer.revision)
    return LayerOut.of(layer)


async def _changed(
    layers: Layers,
    layer_id: str,
    request: Request,
    response: Response,
    body: LayerChangeIn,
    caller: Principal,
    if_match: str | None,
) -> LayerOut:
    layer = await layers.change(
        layer_id,
        name=body.name,
        status=body.status,
        terms=None if body.terms is None else body.terms.applied_to,
        expected_revision=version_of(if_match),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return _told(response, layer)
