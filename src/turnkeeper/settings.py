"""Every number an operator may want to change, in one place."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.model.explanation import Detail

Fault = tuple[tuple[str, ...], str]
"""The settings that do not fit, and what is wrong with them."""


LAST_PORT = 65_535
LONGEST_SECONDS = 100 * 31_536_000


class SettingsInvalid(ValueError):
    """Tells everything that is wrong, one fault a line."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(said for _, said in faults))
        self.faults = faults


def among(*choices: str, default: str | None = None, verb: str = "is") -> str:
    """A setting that is one of these, the first of them unless another is the default."""
    return field(default=default or choices[0], metadata={"among": choices, "verb": verb})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Read once, see `settling`, and passed down. Spans are in seconds, sizes in bytes unless they say otherwise."""

    database: str = field(default="turnkeeper.db", repr=False)
    synchronous: str = among("FULL", "NORMAL", "EXTRA")
    pool_size: int = 16

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    identities: str | None = None
    jwt_secret: str | None = field(default=None, repr=False)
    jwks: str | None = None
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    login_seconds: float = 43_200.0
    failed_tokens: int = 20
    trusted_proxies: str | None = None
    keys: int = 100
    cors_origins: str | None = None
    metrics: str = among("loopback", "open", "token")
    default_agent: str = "symbolic"
    policy: str | None = None
    envelopes: str = among("strict", "lenient", verb="are")
    rate_per_second: float = 200.0
    rate_burst: int = 400
    streams: int = 1_000
    telemetry: str = among("counts", "otel")
    debug: str = among("on", "off", default="off")
    long_runs: int = 100

    lease_seconds: float = 15.0
    renew_seconds: float = 5.0
    run_seconds: float = 60.0
    long_run_seconds: float = 14_400.0
    resumes: int = 3
    queue_seconds: float = 300.0
    answer_seconds: float = 86_400.0
    stop_seconds: float = 2.0
    sweep_seconds: float = 1.0
    grace_seconds: float = 10.0
    idle_seconds: int = 86_400
    request_seconds: float = 7 * 86_400.0
    carried_seconds: float = 600.0
    checkpoint_seconds: float = 7 * 86_400.0
    prune_seconds: float = 86_400.0
    archive_seconds: float = 30 * 86_400.0
    anchor_seconds: float = 60.0
    expiry_seconds: float = 60.0

    queue_limit: int = 32
    history_messages: int = 20
    history_tokens: int = 4_000
    message_chars: int = 32_000
    output_chars: int = 1_000_000
    state_bytes: int = 65_536
    dialogue_bytes: int = 65_536
    metadata_bytes: int = 16_384
    carried_bytes: int = 262_144
    device_memory: str = among("process", "kept")
    body_bytes: int = 1_048_576
    body_depth: int = 64
    delta_seconds: float = 0.05
    delta_bytes: int = 2_048
    heartbeat_seconds: float = 15.0
    stream_frames: int = 256
    sync_agent_threads: int = 64
    critic_retries: int = 2

    session_units: int = 200
    explanations: int = 200
    explanation_detail: str = among(Detail.FULL.value, Detail.SUMMARY.value)
    import_bytes: int = 262_144
    base_sources: int = 500
    base_units: int = 10_000
    source_bytes: int = 1_048_576
    source_units: int = 500
    mounts: int = 16
    model_calls: int = 5
    tokens: int = 1_000_000
    tool_calls: int = 64
    cost_cents: float = 1_000.0
    prompt_tokens: int = 8_000
    frame_depth: int = 3
    plugins_per_stage: int = 4
    parallel_frames: int = 4

    reset_reply: str = "We start afresh."
    pack_bytes: int = 1_048_576

    artifact_bytes: int = 20_971_520
    artifact_files: str | None = None
    artifact_grace_seconds: float = 7 * 86_400.0
    manifest_entries: int = 10_000
    channel_bytes: int = 31_457_280
    smtp_url: str | None = field(default=None, repr=False)
    mail_from: str | None = None
    outbox_attempts: int = 8
    outbox_first_seconds: float = 5.0
    outbox_most_seconds: float = 3_600.0
    outbox_send_seconds: float = 30.0

    bus_port: str = "8181"
    bus_url: str | None = None
    bus_token: str | None = field(default=None, repr=False)
    bus_guard: str = among("on", "off")
    bus_legacy: str = among("on", "off")
    bus_frame_bytes: int = 10_485_760
    bus_queue_bytes: int = 33_554_432
    bus_queue_frames: int = 50_000
    bus_connections: int = 1_000
    bus_agents: str | None = None
    bus_grants: str | None = None
    bus_pipeline: str | None = None
    bus_languages: str = "en-US"
    bus_match_seconds: float = 10.0
    bus_handler_seconds: float = 300.0
    bus_owner_seconds: float = 0.5
    bus_rounds: int = 1_000
    bus_end_dropped: str = among("on", "off")
    bus_completion_sync: str = among("on", "off", default="off")

    model_url: str | None = field(default=None, repr=False)
    model_key: str | None = field(default=None, repr=False)
    model_name: str | None = None
    model_seconds: float = 30.0
    model_retries: int = 2

    def __post_init__(self) -> None:
        if faults := tuple(self._faults()):
            raise SettingsInvalid(faults)

    @property
    def origins(self) -> list[str]:
        """The origins whose pages may ask this server."""
        return [origin.strip() for origin in (self.cors_origins or "").split(",") if origin.strip()]

    def _faults(self) -> Iterator[Fault]:
        """Everything that does not fit, not only the first."""
        for each in dataclasses.fields(self):
            if (said := _misfit(each, getattr(self, each.name))) is not None:
                yield (each.name,), said
        for names, holds, said in RULES:
            if not holds(self):
                yield names, said.format(self)
        for origin in self.origins:
            if origin != "*" and not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                yield ("cors_origins",), f"cors_origins are origins such as https://example.org, not {origin!r}"


def _misfit(about: "dataclasses.Field[Any]", value: Any) -> str | None:
    """What is wrong with a setting by itself."""
    name, choices = about.name, about.metadata.get("among")
    if choices is not None and value not in choices:
        *others, last = choices
        return f"{name} {about.metadata['verb']} {', '.join(others)} or {last}, not {value!r}"
    if not isinstance(value, int | float):
        return None
    if not math.isfinite(value):
        return f"{name} is a finite number, not {value}"
    if value < 0:
        return f"{name} is not negative"
    if name.endswith("_seconds") and value > LONGEST_SECONDS:
        return f"{name} is at most {LONGEST_SECONDS}, which is a hundred years"
    return None


def _is_port(text: str) -> bool:
    return text.isdecimal() and int(text) <= LAST_PORT


RULES: Sequence[tuple[tuple[str, ...], Callable[[Settings], bool], str]] = (
    (
        ("renew_seconds", "lease_seconds"),
        lambda its: 0 < its.renew_seconds < its.lease_seconds,
        "renew_seconds lies between 0 and lease_seconds, so that a lease is renewed in time",
    ),
    (
        ("rate_per_second", "rate_burst"),
        lambda its: its.rate_per_second > 0 and its.rate_burst >= 1,
        "rate_per_second is more than nothing, and rate_burst at least 1",
    ),
    (
        ("idle_seconds", "session_units"),
        lambda its: its.idle_seconds >= 1 and its.session_units >= 1,
        "idle_seconds and session_units are at least 1",
    ),
    (("port",), lambda its: its.port <= LAST_PORT, "port is a number from 0 to 65535, not {0.port}"),
    (
        ("bus_port",),
        lambda its: its.bus_port == "off" or _is_port(its.bus_port),
        "bus_port is a number from 0 to 65535, or off, not {0.bus_port!r}",
    ),
    (
        ("bus_languages",),
        lambda its: its.bus_languages.strip(", ") != "",
        "bus_languages names at least one language, the first of which is assumed",
    ),
    (
        ("bus_match_seconds", "bus_owner_seconds", "bus_rounds"),
        lambda its: its.bus_match_seconds > 0 and its.bus_owner_seconds > 0 and its.bus_rounds >= 1,
        "bus_match_seconds and bus_owner_seconds are more than nothing, and bus_rounds at least 1",
    ),
    (
        ("model_url", "model_name"),
        lambda its: bool(its.model_url) == bool(its.model_name),
        "model_url and model_name come together: where the model is, and which one to ask for",
    ),
    (
        ("model_key",),
        lambda its: its.model_key is None or (its.model_key.isascii() and its.model_key.isprintable()),
        "model_key holds a character that is not printable ASCII, which no header can carry",
    ),
    (
        ("smtp_url", "mail_from"),
        lambda its: bool(its.smtp_url) == bool(its.mail_from),
        "smtp_url and mail_from come together: where mail is handed in, and whom it is from",
    ),
    (
        ("outbox_attempts", "outbox_send_seconds"),
        lambda its: its.outbox_attempts >= 1 and its.outbox_send_seconds > 0,
        "outbox_attempts is at least 1, and outbox_send_seconds more than nothing",
    ),
    (
        ("jwt_secret", "jwks"),
        lambda its: its.jwt_secret is None or its.jwks is None,
        "jwt_secret and jwks exclude each other: who signs tokens is one issuer",
    ),
    (
        ("jwt_audience",),
        lambda its: (its.jwt_secret is None and its.jwks is None) or bool(its.jwt_audience),
        "jwt_audience says for whom tokens are made; without it those for others would do here",
    ),
    (
        ("jwt_secret",),
        lambda its: its.jwt_secret is None or len(its.jwt_secret.encode()) >= 32,
        "jwt_secret has at least 32 bytes; shorter ones can be guessed",
    ),
    (
        ("failed_tokens", "keys", "login_seconds"),
        lambda its: its.failed_tokens >= 1 and its.keys >= 1 and its.login_seconds >= 60,
        "failed_tokens and keys are at least 1, and login_seconds at least 60",
    ),
)
"""The settings that it is about, what holds of all of them together, and what is said when it does not."""
