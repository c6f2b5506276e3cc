"""Two ways to reach a conversation, over HTTP or embedded, that look the same to whoever talks."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import httpx2

from turnkeeper.cli.local import found_at, note_of
from turnkeeper.cli.settled import own_settings
from turnkeeper.errors import NotAuthenticated, ServerUnreachable, StreamLost, TurnkeeperError

if TYPE_CHECKING:
    from turnkeeper.client.sync import SyncTurnkeeper
    from turnkeeper.ledger.feed import Frame

Told = Mapping[str, Any]
"""What travels, as it is: a document, or of a frame its type, run_id, session_id, data and so on."""


_NOBODY = "No server answers at {where}. Start one with: turnkeeper serve"
_LOST = "The connection to {where} was lost. The answer may still come: ask again."


class TalkFailed(Exception):
    """Something was refused or is not there; the text may be shown."""

    def __init__(self, message: str, *, is_fatal: bool = False) -> None:
        super().__init__(message)
        self.is_fatal = is_fatal


class Talk(Protocol):
    where: str
    how: str
    """The flags that lead here again."""

    def say(self, message: str, **asked: Any) -> Iterator[Told]:
        """Send a message and hear what happens until it is answered or asked back. Raises TalkFailed.

        `asked` is session_id, agent, pack and answers, by name.
        """

    def check_pack(self, ref: str) -> None:
        """Raises TalkFailed when there is no such pack. One of the demos is there for whoever asks for it."""

    def reset(self, session_id: str) -> str:
        """Begin a new epoch; what the keeper says to it."""

    def cancel(self, run_id: str) -> None: ...

    def explanation(self, run_id: str) -> Told:
        """Why a run came out as it did, in full, as it travels."""

    def intent(self, session_id: str) -> Told:
        """What a session holds about its intent, as it travels."""

    def units(self, session_id: str) -> list[Told]:
        """What a session knows, as it travels: superseded and forgotten units too."""

    def __enter__(self) -> "Talk": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class HttpTalk:
    def __init__(self, url: str, token: str | None, *, is_found: bool = False) -> None:
        self.where, self.how = url, "" if is_found else f"--url {url}"
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # An answer may take as long as its run may; a server that is not there is noticed at once.
        timeout = httpx2.Timeout(None, connect=5.0)
        # Certificates are read only for where they are needed: that takes longer than most commands.
        self._client = httpx2.Client(
            base_url=f"{url.rstrip('/')}/api/v1",
            headers=headers,
            timeout=timeout,
            verify=not url.startswith("http://"),
        )
        self._token = token
        self._keeper: SyncTurnkeeper | None = None

    def __enter__(self) -> "HttpTalk":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        if self._keeper is not None:
            self._keeper.close()

    def say(self, message: str, **asked: Any) -> Iterator[Told]:
        """A connection that is lost on the way is taken up again."""
        sent = self._talking().sending(message, **asked)
        with self._hearing():
            for frame in sent.frames():
                yield _told(frame, sent.session_id)

    def follow_session(self, session_id: str, after: int | None) -> Iterator[Told]:
        """What happens in a session, without an end: behind a number, or from now on. Raises TalkFailed."""
        with self._hearing():
            for frame in self._talking().follow_session(session_id, after=after):
                yield _told(frame, session_id)

    def follow_run(self, run_id: str) -> Iterator[Told]:
        """What happens in a run, from its beginning to its end. Raises TalkFailed."""
        with self._hearing():
            run = self._talking().run(run_id)
            for frame in self._talking().follow(run):
                yield _told(frame, run.session_id)

    @contextlib.contextmanager
    def _hearing(self) -> Iterator[None]:
        try:
            yield
        except StreamLost:
            raise TalkFailed(_LOST.format(where=self.where)) from None
        except ServerUnreachable:
            raise TalkFailed(_NOBODY.format(where=self.where), is_fatal=True) from None
        except TurnkeeperError as error:
            words = in_words(error.detail, error.code, error.details)
            raise TalkFailed(words, is_fatal=isinstance(error, NotAuthenticated)) from None

    def _talking(self) -> "SyncTurnkeeper":
        """Loaded with the first message: no other command needs it."""
        if self._keeper is None:
            from turnkeeper.client.sync import SyncTurnkeeper

            with self._reaching():
                # A server that was never there is noticed at once, and not waited for.
                self._client.get(f"{self.where.rstrip('/')}/healthz")
            self._keeper = SyncTurnkeeper.open(self.where, token=self._token).__enter__()
        return self._keeper

    def check_pack(self, ref: str) -> None:
        self.asked("GET", f"/packs/{ref}")

    def reset(self, session_id: str) -> str:
        return str(self.asked("POST", f"/sessions/{session_id}/reset")["text"])

    def cancel(self, run_id: str) -> None:
        self.asked("POST", f"/runs/{run_id}/cancel")

    def explanation(self, run_id: str) -> Told:
        return self.asked("GET", f"/runs/{run_id}/explanation")

    def intent(self, session_id: str) -> Told:
        return self.asked("GET", f"/sessions/{session_id}/intent")

    def units(self, session_id: str) -> list[Told]:
        from turnkeeper.cli.units_known import known_units

        return list(known_units(session_id).items(self))

    def asked(self, method: str, path: str, body: Any = None) -> Told:
        """What the server answers. Raises TalkFailed for a refusal, in its words."""
        with self._reaching():
            response = self._client.request(method, path, json=body)
        if response.is_error:
            raise _refusal(response)
        read: Told = response.json() if response.content else {}
        return read

    def sent(self, path: str, content: Iterable[bytes]) -> Told:
        """What the server answers to content that is sent as it is read. Raises TalkFailed."""
        with self._reaching():
            response = self._client.post(path, content=content)
        if response.is_error:
            raise _refusal(response)
        read: Told = response.json()
        return read

    def content(self, path: str) -> Iterator[bytes]:
        """Bytes as they come. Raises TalkFailed."""
        with self._reaching(), self._client.stream("GET", path) as response:
            if response.is_error:
                response.read()
                raise _refusal(response)
            yield from response.iter_bytes()

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
            raise TalkFailed(f"{self.where!r} is not the address of a server.", is_fatal=True) from None
        except httpx2.ConnectError:
            raise TalkFailed(_NOBODY.format(where=self.where), is_fatal=True) from None
        except httpx2.TransportError:
            raise TalkFailed(_LOST.format(where=self.where)) from None


def _told(frame: "Frame", session_id: str | None) -> Told:
    return {
        "seq": frame.no,
        "type": frame.type.value,
        "run_id": frame.run_id,
        "session_id": session_id,
        "ts": frame.at.isoformat(),
        "truncated": frame.truncated,
        "data": dict(frame.data),
    }


def _refusal(response: httpx2.Response) -> TalkFailed:
    try:
        problem = response.json()
        message = in_words(problem["detail"], problem["code"], problem.get("details", ()))
    except (ValueError, KeyError, TypeError):
        message = f"The server answered with status {response.status_code}. Is it a turnkeeper?"
    return TalkFailed(message, is_fatal=response.status_code == 401)


def in_words(detail: str, code: str, details: Iterable[Mapping[str, Any]]) -> str:
    """A refusal, and below it each fault with its place."""
    faults = [each for each in details if "message" in each]
    places = [each.get("pointer") or each.get("parameter") for each in faults]
    lines = [
        f"  {place}: {each['message']}" if place else f"  {each['message']}"
        for place, each in zip(places, faults, strict=True)
    ]
    return "\n".join([f"{detail} ({code})", *lines])


def talk_with_server(url: str | None, token: str | None) -> HttpTalk:
    """The server at this address, else the one on the local database. Raises ValueError for a faulty setting."""
    settings = own_settings(token=token)
    local = found_at(note_of(settings))
    if url is None and local is not None:
        return HttpTalk(local.url, token or local.token, is_found=True)
    url = url or f"http://{settings.host}:{settings.port}"
    if token is None and local is not None and local.url == url.rstrip("/"):
        token = local.token
    return HttpTalk(url, token or settings.token)
