"""Starting the server: from flags to a listening socket, with a plain word for whatever is in the way."""

import asyncio
import contextlib
import errno
import importlib
import os
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnkeeper.cli.bus_beside import BusBeside, BusPortTaken
from turnkeeper.cli.local import LocalServer, announced, note_of
from turnkeeper.cli.logs import log_to_stderr
from turnkeeper.cli.say import complain
from turnkeeper.cli.settled import settled
from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.keys import PREFIX
from turnkeeper.ports.identities import Identities
from turnkeeper.server.addresses import is_loopback
from turnkeeper.server.identities import (
    AllIdentities,
    IdentitiesInvalid,
    StaticIdentities,
    is_readable_by_others,
    read_identities,
    single_identity,
)
from turnkeeper.server.listen import bind, listen, url_of
from turnkeeper.server.tokens import Tokens
from turnkeeper.settings import Settings
from turnkeeper.settling import Settled

# A demo shows how a session expires, and nobody waits a day for that.
DEMO_IDLE_SECONDS = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for; None leaves it to the environment and the defaults."""

    host: str | None = None
    port: int | None = None
    database: str | None = None
    token: str | None = None
    identities: Path | None = None
    agents: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    bus_port: str | None = None
    bus_url: str | None = None
    bus_setup: tuple[str, ...] = ()
    debug: bool = False
    demo: bool = False


class CannotStart(Exception):
    """Says in one line what is in the way."""


def serve(wanted: Wanted) -> int:
    log_to_stderr()
    try:
        agents = [agent_of(spec) for spec in wanted.agents]
        setups = [function_at(spec) for spec in wanted.setup]
        bus_setups = [function_at(spec, f"--bus-setup {spec}") for spec in wanted.bus_setup]
        known = _settings_of(wanted, agents)
        settings = known.settings
        if settings.debug == "on":
            log_to_stderr(whole=True)
        made_token = None if settings.token or settings.identities or by_jwt(settings) else _new_token()
        identities = _identities_of(settings, made_token)
        bound = _bound(settings)
    except CannotStart as reason:
        return complain(str(reason))
    try:
        keeper = Turnkeeper(settings)
        for name, function in agents:
            keeper.agent(name)(function)
        for set_up in setups:
            set_up(keeper)
        if wanted.demo:
            from turnkeeper.cli.demo import set_up_demo

            set_up_demo(keeper)
        tokens = Tokens(keeper, identities)
        bus = BusBeside(keeper, tokens, bus_setups, is_asked_for="bus_port" in known.sources)
        return _run(keeper, tokens, bound, made_token, bus, demo=wanted.demo)
    except (BusPortTaken, ValueError) as error:
        return complain(str(error))
    except TurnkeeperError as error:
        return complain(error.detail, code=1)
    finally:
        bound.close()


def _run(
    keeper: Turnkeeper,
    tokens: Tokens,
    bound: socket.socket,
    made_token: str | None,
    bus: BusBeside,
    *,
    demo: bool,
) -> int:
    settings, url = keeper.settings, url_of(bound)
    token = made_token or settings.token
    is_local = is_loopback(bound.getsockname()[0])
    note = contextlib.ExitStack()

    def when_ready() -> None:
        local = LocalServer(url=url, token=token, pid=os.getpid(), bus=bus.url) if token and is_local else None
        note.enter_context(announced(note_of(settings), local))
        # The line that programs look for comes first and stays as it is.
        print(f"Listening on {url}", flush=True)
        for line in bus.told:
            print(line, flush=True)
        if demo:
            from turnkeeper.cli.welcome import show_welcome

            show_welcome(settings, url, token, is_made=made_token is not None, bus=bus.url)
        elif made_token is not None:
            print(f"Open {url}/#token={made_token}", flush=True)

    with note, asyncio.Runner(loop_factory=_new_loop()) as runner:
        prepare = keeper.packs.push_demos if demo else None
        beside = bus.opened()
        runner.run(listen(keeper, tokens, bound, when_ready=when_ready, prepare=prepare, beside=beside))
    return 0


def _new_token() -> str:
    """One that can be pasted behind a flag: none begins with a dash."""
    while (token := secrets.token_urlsafe(18)).startswith("-"):
        pass
    return token


def _new_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _settings_of(wanted: Wanted, agents: list[tuple[str, Any]]) -> Settled:
    given: dict[str, Any] = {
        "host": wanted.host,
        "port": wanted.port,
        "database": wanted.database,
        "token": wanted.token,
        "identities": None if wanted.identities is None else str(wanted.identities),
        "bus_port": wanted.bus_port,
        "bus_url": wanted.bus_url,
        "debug": "on" if wanted.debug else None,
    }
    otherwise: dict[str, Any] = {"default_agent": agents[0][0]} if agents else {}
    if wanted.demo:
        otherwise["idle_seconds"] = DEMO_IDLE_SECONDS
    try:
        known = settled(otherwise=otherwise, **given)
    except ValueError as error:
        raise CannotStart(str(error)) from None
    token = known.settings.token
    if token is not None and not (token and token.isascii() and token.isprintable() and " " not in token):
        raise CannotStart("The token must be printable ASCII without spaces.")
    if token is not None and token.startswith(PREFIX):
        raise CannotStart(f"The token must not begin with {PREFIX}: that is how API keys begin.")
    return known


def _identities_of(settings: Settings, made_token: str | None) -> Identities:
    try:
        is_local = is_loopback(settings.host)
    except OSError:
        raise CannotStart(f"{settings.host!r} is not an address of this machine.") from None
    if made_token is not None and not is_local:
        raise CannotStart(
            f"Listening on {settings.host} lets other machines in, so say who may come: "
            "give --token or --identities, set jwks or jwt_secret, or listen on 127.0.0.1."
        )
    found = []
    if settings.identities:
        path = Path(settings.identities)
        try:
            found += read_identities(path)
        except IdentitiesInvalid as error:
            raise CannotStart(str(error)) from None
        if is_readable_by_others(path):
            print(f"Warning: {path} can be read by others; try chmod 600.", file=sys.stderr, flush=True)
    token = made_token or settings.token
    if token:
        found.append(single_identity(token))
    static = StaticIdentities(found)
    if not by_jwt(settings):
        return static
    from turnkeeper.server.jwt import jwt_identities

    return AllIdentities(static, jwt_identities(settings))


def by_jwt(settings: Settings) -> bool:
    return settings.jwt_secret is not None or settings.jwks is not None


def _bound(settings: Settings) -> socket.socket:
    try:
        return bind(settings.host, settings.port)
    except OSError as error:
        place = f"{settings.host}:{settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(
                f"Port {settings.port} on {settings.host} is taken. Choose another with --port, or any with --port 0."
            ) from None
        raise CannotStart(f"Cannot listen on {place}: {error.strerror or error}.") from None


def agent_of(spec: str) -> tuple[str, Any]:
    """The name and the function that `module:function` or `name=module:function` means."""
    given, _, place = spec.rpartition("=")
    if not all(place.partition(":")[::2]):
        raise CannotStart(f"--agent is module:function or name=module:function, not {spec!r}.")
    return given or place.partition(":")[2], function_at(place, f"--agent {spec}")


def function_at(place: str, flag: str | None = None) -> Callable[..., Any]:
    """What `module:function` means; modules are looked for in the current folder, too."""
    flag = flag or f"--setup {place}"
    module_name, _, function_name = place.partition(":")
    if not module_name or not function_name:
        raise CannotStart(f"--setup is module:function, not {place!r}.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise CannotStart(f"{flag}: {error}.") from None
    function: Callable[..., Any] | None = getattr(module, function_name, None)
    if not callable(function):
        raise CannotStart(f"{flag}: {module_name} has no function {function_name!r}.")
    return function
