"""Every number an operator may want to change, in one place."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from turnkeeper.model.explanation import Detail

Fault = tuple[tuple[str, ...], str]
"""The settings that do not fit, and what is wrong with them."""


class SettingsInvalid(ValueError):
    """Tells everything that is wrong, one fault a line."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(said for _, said in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Read once, see `settling`, and passed down. Spans are in seconds, sizes in bytes unless they say otherwise."""

    database: str = field(default="turnkeeper.db", repr=False)
    synchronous: str = "FULL"
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
    metrics: str = "loopback"
    default_agent: str = "symbolic"
    policy: str | None = None
    envelopes: str = "strict"
    rate_per_second: float = 200.0
    rate_burst: int = 400
    streams: int = 1_000
    telemetry: str = "counts"
    debug: str = "off"
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
    device_memory: str = "process"
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
    explanation_detail: str = "full"
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
    bus_guard: str = "on"
    bus_legacy: str = "on"
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
    bus_end_dropped: str = "on"
    bus_completion_sync: str = "off"

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
        if self.synchronous not in ("FULL", "NORMAL", "EXTRA"):
            yield ("synchronous",), f"synchronous is FULL, NORMAL or EXTRA, not {self.synchronous!r}"
        if not 0 < self.renew_seconds < self.lease_seconds:
            yield (
                ("renew_seconds", "lease_seconds"),
                "renew_seconds lies between 0 and lease_seconds, so that a lease is renewed in time",
            )
        if self.envelopes not in ("strict", "lenient"):
            yield ("envelopes",), f"envelopes are strict or lenient, not {self.envelopes!r}"
        if self.device_memory not in ("process", "kept"):
            yield ("device_memory",), f"device_memory is process or kept, not {self.device_memory!r}"
        if self.telemetry not in ("counts", "otel"):
            yield ("telemetry",), f"telemetry is counts or otel, not {self.telemetry!r}"
        if self.rate_per_second <= 0 or self.rate_burst < 1:
            yield ("rate_per_second", "rate_burst"), "rate_per_second is more than nothing, and rate_burst at least 1"
        if self.explanation_detail not in tuple(Detail):
            yield ("explanation_detail",), f"explanation_detail is full or summary, not {self.explanation_detail!r}"
        if self.idle_seconds < 1 or self.session_units < 1:
            yield ("idle_seconds", "session_units"), "idle_seconds and session_units are at least 1"
        if self.port > 65_535:
            yield ("port",), f"port is a number from 0 to 65535, not {self.port}"
        if self.metrics not in ("loopback", "open", "token"):
            yield ("metrics",), f"metrics is loopback, open or token, not {self.metrics!r}"
        for origin in self.origins:
            if origin != "*" and not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                yield ("cors_origins",), f"cors_origins are origins such as https://example.org, not {origin!r}"
        if self.bus_port != "off" and not (self.bus_port.isdecimal() and int(self.bus_port) <= 65_535):
            yield ("bus_port",), f"bus_port is a number from 0 to 65535, or off, not {self.bus_port!r}"
        for name in ("debug", "bus_guard", "bus_legacy", "bus_end_dropped", "bus_completion_sync"):
            if getattr(self, name) not in ("on", "off"):
                yield (name,), f"{name} is on or off, not {getattr(self, name)!r}"
        if not self.bus_languages.strip(", "):
            yield ("bus_languages",), "bus_languages names at least one language, the first of which is assumed"
        if self.bus_match_seconds <= 0 or self.bus_owner_seconds <= 0 or self.bus_rounds < 1:
            yield (
                ("bus_match_seconds", "bus_owner_seconds", "bus_rounds"),
                "bus_match_seconds and bus_owner_seconds are more than nothing, and bus_rounds at least 1",
            )
        if bool(self.model_url) != bool(self.model_name):
            yield (
                ("model_url", "model_name"),
                "model_url and model_name come together: where the model is, and which one to ask for",
            )
        if self.model_key is not None and not (self.model_key.isascii() and self.model_key.isprintable()):
            yield ("model_key",), "model_key holds a character that is not printable ASCII, which no header can carry"
        if bool(self.smtp_url) != bool(self.mail_from):
            yield (
                ("smtp_url", "mail_from"),
                "smtp_url and mail_from come together: where mail is handed in, and whom it is from",
            )
        if self.outbox_attempts < 1 or self.outbox_send_seconds <= 0:
            yield (
                ("outbox_attempts", "outbox_send_seconds"),
                "outbox_attempts is at least 1, and outbox_send_seconds more than nothing",
            )
        yield from self._faults_of_tokens()
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and value < 0:
                yield (each.name,), f"{each.name} is not negative"

    def _faults_of_tokens(self) -> Iterator[Fault]:
        if self.jwt_secret is not None and self.jwks is not None:
            yield ("jwt_secret", "jwks"), "jwt_secret and jwks exclude each other: who signs tokens is one issuer"
        if (self.jwt_secret is not None or self.jwks is not None) and not self.jwt_audience:
            yield (
                ("jwt_audience",),
                "jwt_audience says for whom tokens are made; without it those for others would do here",
            )
        if self.jwt_secret is not None and len(self.jwt_secret.encode()) < 32:
            yield ("jwt_secret",), "jwt_secret has at least 32 bytes; shorter ones can be guessed"
        if self.failed_tokens < 1 or self.keys < 1 or self.login_seconds < 60:
            yield (
                ("failed_tokens", "keys", "login_seconds"),
                "failed_tokens and keys are at least 1, and login_seconds at least 60",
            )
