"""Agent definitions and model profiles."""

from fastapi import APIRouter, Request, Response

from turnkeeper.errors import DefinitionNotFound, NotAllowed, RevisionMoved
from turnkeeper.keeping.definitions import KnownAgent
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import NOT_MODIFIED, IdCursor, IfMatch, Limit, etag_of, version_of
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_layers import AgentIn, AgentOut, ModelIn, ModelOut

agents = APIRouter(prefix="/agents", tags=["scope"], route_class=GuardedRoute)
models = APIRouter(prefix="/models", tags=["scope"], route_class=GuardedRoute)
PUTTING = problems(*WITH_BODY, NotAllowed, RevisionMoved)


@agents.get("", name="list_agents", response_model=Page[AgentOut], responses=problems())
@asks("agents:read")
async def list_agents(keeper: Keeper, caller: Caller, limit: Limit = 200, cursor: IdCursor = None) -> Page[AgentOut]:
    """Agents by their code on a living node, by their definition, or by both; in the order of their ids."""
    found = [each for each in await keeper.definitions.agents(principal=caller) if each.id > (cursor or "")]
    return page_of([AgentOut.of(agent) for agent in found], limit, [agent.id for agent in found])


@agents.get("/{agent_id}", name="read_agent", response_model=AgentOut, responses=problems(DefinitionNotFound))
@asks("agents:read")
async def read_agent(agent_id: str, response: Response, keeper: Keeper, caller: Caller) -> AgentOut:
    """The ETag is the version of its definition, 0 where it has none."""
    return _told(response, await keeper.definitions.agent(agent_id, principal=caller))


@agents.put("/{agent_id}", name="put_agent", response_model=AgentOut, responses=PUTTING)
@asks("agents:manage")
async def put_agent(
    agent_id: str,
    request: Request,
    response: Response,
    body: AgentIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> AgentOut:
    """Define how an agent may be used here, from the next session on. Its code registers under the same id."""
    await keeper.definitions.put_agent(
        agent_id,
        body.traits,
        expected_version=version_of(if_match),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return _told(response, await keeper.definitions.agent(agent_id, principal=caller))


@agents.delete("/{agent_id}", name="remove_agent", status_code=204, responses=problems(NotAllowed, DefinitionNotFound))
@asks("agents:manage")
async def remove_agent(agent_id: str, request: Request, keeper: Keeper, caller: Caller) -> None:
    """Forget a definition; the code of the agent stays."""
    trace_id = exchange_of(request).trace_id
    await keeper.definitions.remove_agent(agent_id, principal=caller, trace_id=trace_id)


@models.get("", name="list_models", response_model=Page[ModelOut], responses=problems())
@asks("models:read")
async def list_models(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: IdCursor = None) -> Page[ModelOut]:
    """The model profiles of one's tenant, by their ids."""
    found = await keeper.definitions.models(principal=caller, cursor=cursor, limit=limit + 1)
    return page_of([ModelOut.of(profile) for profile in found], limit, [profile.id for profile in found])


@models.get(
    "/{model_id}", name="read_model", response_model=ModelOut, responses=problems(DefinitionNotFound) | NOT_MODIFIED
)
@asks("models:read")
async def read_model(model_id: str, response: Response, keeper: Keeper, caller: Caller) -> ModelOut:
    """The ETag is its version."""
    profile = await keeper.definitions.model(model_id, principal=caller)
    response.headers["ETag"] = etag_of(profile.version)
    return ModelOut.of(profile)


@models.put("/{model_id}", name="put_model", response_model=ModelOut, responses=PUTTING)
@asks("models:manage")
async def put_model(
    model_id: str,
    request: Request,
    response: Response,
    body: ModelIn,
    keeper: Keeper,
    caller: Caller,
    if_match: IfMatch = None,
) -> ModelOut:
    """Say which models a profile stands for, from the next run on."""
    profile = await keeper.definitions.put_model(
        model_id,
        body.traits,
        expected_version=version_of(if_match),
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    response.headers["ETag"] = etag_of(profile.version)
    return ModelOut.of(profile)


@models.delete("/{model_id}", name="remove_model", status_code=204, responses=problems(NotAllowed, DefinitionNotFound))
@asks("models:manage")
async def remove_model(model_id: str, request: Request, keeper: Keeper, caller: Caller) -> None:
    """Forget a profile. Whoever inherited it by its name is then given that name as the model."""
    trace_id = exchange_of(request).trace_id
    await keeper.definitions.remove_model(model_id, principal=caller, trace_id=trace_id)


def _told(response: Response, agent: KnownAgent) -> AgentOut:
    response.headers["ETag"] = etag_of(agent.definition.version if agent.definition else 0)
    return AgentOut.of(agent)
