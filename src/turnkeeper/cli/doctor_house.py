"""Whether a server with these settings could start: who may come, where it listens, and what it needs beside."""

import asyncio
import contextlib
import errno
import http.client
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnkeeper.cli.findings import Finding, fault, warning, well
from turnkeeper.cli.say import counting
from turnkeeper.cli.serve import CannotStart, agent_of, by_jwt, function_at
from turnkeeper.errors import IssuerUnavailable, TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.server.addresses import is_loopback
from turnkeeper.server.identities import IdentitiesInvalid, is_readable_by_others, read_identities
from turnkeeper.server.listen import bind
from turnkeeper.settings import Settings

PATIENCE_SECONDS = 2.0


def look_at_house(settings: Settings, *, agents: Sequence[str], setup: Sequence[str]) -> Iterator[Finding]:
    yield from _callers(settings)
    yield _port(settings)
    yield _bus(settings)
    yield _parts(settings)
    yield from _content(settings)
    yield _model(settings)
    yield from _code(agents, setup)


def _callers(settings: Settings) -> Iterator[Finding]:
    try:
        is_local = is_loopback(settings.host)
    except OSError:
        yield fault("host", f"{settings.host} is not an address of this machine", "Use 127.0.0.1, or 0.0.0.0 for all.")
        return
    is_named = bool(settings.token or settings.identities or by_jwt(settings))
    if not is_local and not is_named:
        yield fault(
            "callers",
            f"listening on {settings.host} lets other machines in, and nobody said who may come",
            "Give --token or --identities, set jwks or jwt_secret, or listen on 127.0.0.1.",
        )
    elif settings.token or not is_named:
        yield well("callers", "one token" if settings.token else "one token, made up at the start")
    if settings.identities:
        yield from _identities(Path(settings.identities))
    if by_jwt(settings):
        yield _issuer(settings)


def _identities(path: Path) -> Iterator[Finding]:
    try:
        found = read_identities(path)
    except IdentitiesInvalid as error:
        yield fault("identities", str(error), "Mend the file; serve does not start with it.")
        return
    if is_readable_by_others(path):
        yield warning("identities", f"{path} can be read by other users", f"chmod 600 {path}")
    else:
        yield well("identities", f"{len(found)} in {path}")


def _issuer(settings: Settings) -> Finding:
    if settings.jwks is None:
        return well("issuer", "signs tokens with the secret that is set")
    if settings.jwks.startswith(("https://", "http://")):
        return well("issuer", f"its keys are those of {urlsplit(settings.jwks).hostname}, who was not asked")
    from turnkeeper.server.jwt import IssuerKeys

    async def read() -> Mapping[str, Any]:
        kept: Mapping[str, Any] = json.loads(text)
        return kept

    path = Path(settings.jwks)
    try:
        text = path.read_text(encoding="utf-8")
        keys = asyncio.run(IssuerKeys(read).holding(None))
    except (OSError, UnicodeDecodeError, IssuerUnavailable) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "holds no set of keys"
        return fault("issuer", f"{path} {why}", "Name a file with a JWK set; without one no token is known.")
    return well("issuer", f"{counting(len(keys.keys), 'key', 'keys')} in {path}")


def _port(settings: Settings) -> Finding:
    place = f"{settings.host}:{settings.port}"
    reason = _why_not(settings.host, settings.port)
    if reason is None:
        return well("port", "any that is free" if settings.port == 0 else f"{place} is free")
    if reason == "taken" and _is_turnkeeper(settings.host, settings.port):
        return well("port", f"{place} is taken by a turnkeeper that answers")
    return fault("port", f"{place} is {reason}", "Choose another with --port, or any with --port 0.")


def _bus(settings: Settings) -> Finding:
    if settings.bus_url is not None:
        return well("bus", f"that of {urlsplit(settings.bus_url).hostname}")
    if settings.bus_port == "off":
        return well("bus", "off")
    place = f"{settings.host}:{settings.bus_port}"
    reason = _why_not(settings.host, int(settings.bus_port))
    if reason is None:
        return well("bus", f"{place} is free")
    return warning("bus", f"{place} is {reason}", "Choose another with --bus-port, or say --bus-port off.")


def _why_not(host: str, port: int) -> str | None:
    try:
        bind(host, port).close()
    except OSError as error:
        return "taken" if error.errno == errno.EADDRINUSE else f"of no use: {error.strerror or error}"
    return None


def _is_turnkeeper(host: str, port: int) -> bool:
    """Whether what listens there, on this machine, answers as one does that it has no such page."""
    asked = http.client.HTTPConnection(host if is_loopback(host) else "127.0.0.1", port, timeout=PATIENCE_SECONDS)
    with contextlib.closing(asked), contextlib.suppress(OSError, http.client.HTTPException):
        asked.request("GET", "/api/v1/nothing")
        answer = asked.getresponse()
        return b"turnkeeper" in answer.read(4096) or answer.getheader("content-type") == "application/problem+json"
    return False


def _parts(settings: Settings) -> Finding:
    """The policy, senders and telemetry, as a start would put them together; nothing is opened."""
    try:
        Turnkeeper(settings)
    except (TurnkeeperError, ValueError, OSError) as error:
        said = error.detail if isinstance(error, TurnkeeperError) else str(error)
        return fault("parts", said, "Mend the file or the setting that it names.")
    return well("policy", settings.policy or "what is safe; no file is named")


def _content(settings: Settings) -> Iterator[Finding]:
    if settings.artifact_files is not None:
        folder = Path(settings.artifact_files)
        if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
            yield fault("content", f"{folder} cannot be written", "Give this user the right to write there.")
        else:
            yield well("content", f"in files under {folder}")


def _model(settings: Settings) -> Finding:
    if not settings.model_url:
        return well("model", "none; everything works without one")
    address = urlsplit(settings.model_url)
    host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
    said = f"{settings.model_name} at {host}"
    with contextlib.suppress(OSError):
        if not is_loopback(host):
            return well("model", f"{said}; not on this machine, so it was not asked")
    try:
        socket.create_connection((host, port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return warning("model", f"{said} does not answer", "Start it, or correct TURNKEEPER_MODEL_URL.")
    return well("model", f"{said} answers")


def _code(agents: Sequence[str], setup: Sequence[str]) -> Iterator[Finding]:
    for spec in agents:
        yield _importable("agent", spec)
    for spec in setup:
        yield _importable("setup", spec)


def _importable(kind: str, spec: str) -> Finding:
    try:
        if kind == "agent":
            agent_of(spec)
        else:
            function_at(spec)
    except CannotStart as reason:
        return fault(kind, str(reason), "Name module:function as Python would import it from this folder.")
    except Exception as error:
        return fault(
            kind, f"{spec} fails while it is imported: {type(error).__name__}", "Import it in Python to see why."
        )
    return well(kind, f"{spec} can be imported")
