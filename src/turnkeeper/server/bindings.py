"""Bindings and contacts: the doors of a tenant to the outside world, and who is known behind them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from turnkeeper.errors import (
    BindingNotFound,
    ChannelUnsupported,
    ContactNotFound,
    ExtraMissing,
    NotAllowed,
)
from turnkeeper.model.binding import BindingTerms
from turnkeeper.server.asking import asks
from turnkeeper.server.auth import Caller
from turnkeeper.server.exchange import exchange_of
from turnkeeper.server.guard import GuardedRoute, Keeper
from turnkeeper.server.once import once
from turnkeeper.server.openapi import WITH_BODY, problems
from turnkeeper.server.parameters import Limit
from turnkeeper.server.wire import Page, page_of
from turnkeeper.server.wire_channels import (
    BindingChangeIn,
    BindingIn,
    BindingOut,
    ContactIn,
    ContactOut,
)

router = APIRouter(prefix="/bindings", tags=["channels"], route_class=GuardedRoute)

Cursor = Annotated[str | None, Query(max_length=320, pattern=r"^[^\x00]*$", description="`next` of the page before.")]


@router.post(
    "",
    name="create_binding",
    status_code=201,
    response_model=BindingOut,
    responses=problems(*WITH_BODY, NotAllowed, ChannelUnsupported, ExtraMissing),
)
@asks("bindings:manage")
@once
async def create_binding(
    request: Request, response: Response, body: BindingIn, keeper: Keeper, caller: Caller
) -> BindingOut:
    """Make a door for a channel. The outside world sends to its `address`; secrets are not shown again."""
    terms = body.applied_to(BindingTerms(name=body.name))
    trace_id = exchange_of(request).trace_id
    binding = await keeper.bindings.create(body.channel, terms, principal=caller, trace_id=trace_id)
    response.headers["Location"] = f"{request.url.path}/{binding.id}"
    return BindingOut.of(binding)


@router.get("", name="list_bindings", response_model=Page[BindingOut], responses=problems(NotAllowed))
@asks("bindings:manage")
async def list_bindings(keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: Cursor = None) -> Page[BindingOut]:
    """The bindings of one's tenant, newest first."""
    found = await keeper.bindings.list(principal=caller, before=cursor, limit=limit + 1)
    return page_of([BindingOut.of(binding) for binding in found], limit, [binding.id for binding in found])


@router.get(
    "/{binding_id}", name="read_binding", response_model=BindingOut, responses=problems(NotAllowed, BindingNotFound)
)
@asks("bindings:manage")
async def read_binding(binding_id: str, keeper: Keeper, caller: Caller) -> BindingOut:
    """One binding, without its secrets."""
    return BindingOut.of(await keeper.bindings.get(binding_id, principal=caller))


@router.patch(
    "/{binding_id}",
    name="change_binding",
    response_model=BindingOut,
    responses=problems(*WITH_BODY, NotAllowed, BindingNotFound, ExtraMissing),
)
@asks("bindings:manage")
async def change_binding(
    binding_id: str, request: Request, body: BindingChangeIn, keeper: Keeper, caller: Caller
) -> BindingOut:
    """Other terms, from the next message on."""
    before = await keeper.bindings.get(binding_id, principal=caller)
    terms, trace_id = body.applied_to(before.terms), exchange_of(request).trace_id
    return BindingOut.of(await keeper.bindings.change(binding_id, terms, principal=caller, trace_id=trace_id))


@router.delete("/{binding_id}", name="remove_binding", status_code=204, responses=problems(NotAllowed, BindingNotFound))
@asks("bindings:manage")
async def remove_binding(binding_id: str, request: Request, keeper: Keeper, caller: Caller) -> Response:
    """Take a door away, with its contacts. Replies that are still on their way fail."""
    await keeper.bindings.remove(binding_id, principal=caller, trace_id=exchange_of(request).trace_id)
    return Response(status_code=204)


@router.put(
    "/{binding_id}/contacts",
    name="put_contact",
    response_model=ContactOut,
    responses=problems(*WITH_BODY, NotAllowed, BindingNotFound, ContactNotFound),
)
@asks("bindings:write")
async def put_contact(binding_id: str, request: Request, body: ContactIn, keeper: Keeper, caller: Caller) -> ContactOut:
    """Say who an address is and which conversation it goes on with. Users may do so for addresses that are theirs."""
    contact = await keeper.bindings.put_contact(
        binding_id,
        body.address,
        user=body.user,
        session_id=body.session_id,
        principal=caller,
        trace_id=exchange_of(request).trace_id,
    )
    return ContactOut.of(contact)


@router.get(
    "/{binding_id}/contacts",
    name="list_contacts",
    response_model=Page[ContactOut],
    responses=problems(BindingNotFound),
)
@asks("bindings:read")
async def list_contacts(
    binding_id: str, keeper: Keeper, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Page[ContactOut]:
    """By address: all of them for owner and admin, one's own for everyone else."""
    found = await keeper.bindings.contacts(binding_id, principal=caller, after=cursor or "", limit=limit + 1)
    return page_of([ContactOut.of(contact) for contact in found], limit, [contact.address for contact in found])


@router.delete(
    "/{binding_id}/contacts",
    name="remove_contact",
    status_code=204,
    responses=problems(NotAllowed, BindingNotFound, ContactNotFound),
)
@asks("bindings:manage")
async def remove_contact(
    binding_id: str,
    request: Request,
    keeper: Keeper,
    caller: Caller,
    address: Annotated[str, Query(max_length=320)],
) -> Response:
    """Know an address no longer."""
    trace_id = exchange_of(request).trace_id
    await keeper.bindings.remove_contact(binding_id, address, principal=caller, trace_id=trace_id)
    return Response(status_code=204)
