"""The whole HTTP face: a Turnkeeper and its identities become an application."""

from fastapi import APIRouter, Depends, FastAPI

from turnkeeper.keeper import Turnkeeper
from turnkeeper.ports.identities import Identities
from turnkeeper.server import (
    approvals,
    artifacts,
    audit,
    bases,
    bindings,
    channels,
    chat,
    console,
    converting,
    definitions,
    deliveries,
    docs_page,
    erasure,
    explanations,
    histories,
    house,
    invoke,
    keys,
    layers,
    login,
    overview,
    packs,
    runs,
    seals,
    sessions,
    substrate,
    units,
)
from turnkeeper.server.auth import bearer
from turnkeeper.server.closing import Closing
from turnkeeper.server.compressing import CompressingMiddleware
from turnkeeper.server.crossing import CROSSING, CrossingMiddleware
from turnkeeper.server.errors import API, render_errors
from turnkeeper.server.heading import HeadMiddleware
from turnkeeper.server.middleware import ExchangeMiddleware
from turnkeeper.server.openapi import describe, operation_id
from turnkeeper.server.tokens import Tokens
from turnkeeper.server.version import own_version

ABOUT = """Keeps conversations: every turn is a transaction on a session.

Every request under `/api/v1` carries `Authorization: Bearer TOKEN`. What is wrong is told as
`application/problem+json`; programs go by its `code`, which never changes, and by `retryable`.

Lists come in pages: ask for the rest with `?cursor=` and what `next` of a page says. `ETag` and `If-Match` keep two
people from overwriting each other's settings. A POST with an `Idempotency-Key` is done once, however often it is sent.
HEAD is answered wherever GET is, with the same headers.
"""


def create_app(keeper: Turnkeeper, identities: Identities | Tokens) -> FastAPI:
    """The keeper is given opened, and closed by whoever opened it."""
    tokens = identities if isinstance(identities, Tokens) else Tokens(keeper, identities)
    app = FastAPI(
        title="turnkeeper",
        version=own_version(),
        description=ABOUT,
        docs_url=None,  # These two load from a third-party host; docs_page is ours.
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
    )
    app.state.keeper, app.state.tokens, app.state.closing = keeper, tokens, Closing()
    api = APIRouter(prefix=API, dependencies=[Depends(bearer)])
    for router in (
        chat.router,
        invoke.router,
        invoke.schemas,
        sessions.router,
        histories.router,
        units.router,
        explanations.of_session,
        overview.router,
        runs.router,
        explanations.of_run,
        bases.router,
        bases.mounts,
        packs.router,
        audit.router,
        packs.of_session,
        layers.tenants,
        layers.projects,
        layers.objectives,
        layers.users,
        definitions.agents,
        definitions.models,
        artifacts.router,
        substrate.manifests,
        substrate.pointers,
        substrate.of_session,
        substrate.storage,
        channels.router,
        channels.doors,
        bindings.router,
        deliveries.router,
        approvals.router,
        erasure.of_session,
        erasure.of_user,
        erasure.receipts,
        seals.router,
        converting.router,
        keys.router,
        login.router,
    ):
        api.include_router(router)
    app.include_router(api)
    app.include_router(login.door, prefix=API)
    app.include_router(house.router)
    app.include_router(console.router)
    app.include_router(docs_page.router)
    app.add_middleware(HeadMiddleware)
    app.add_middleware(CompressingMiddleware)
    if origins := keeper.settings.origins:
        app.add_middleware(CrossingMiddleware, allow_origins=origins, **CROSSING)
    app.add_middleware(ExchangeMiddleware)
    render_errors(app, keeper)
    describe(app)
    return app
