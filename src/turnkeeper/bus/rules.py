"""What a deployment decides about its orchestrator."""

from dataclasses import dataclass

STAGES = ("stop", "converse", "intents", "fallback-high", "fallback-medium", "fallback-low", "agents")


@dataclass(frozen=True, slots=True, kw_only=True)
class BusRules:
    """`languages` are those that utterances may be in, `lang` the one that is assumed. `pipeline` is asked where a
    session prefers none. A handler that takes longer than `handler_seconds` is given up; 0 waits for ever.

    `owner_seconds` is how long the owner of `default` may leave an utterance lying before another one takes over.
    `marks_dropped`: an utterance whose carrier is malformed gets its end marker, too. `syncs_at_completion`: what a
    handler changed in its session counts although it emitted nothing after that.
    """

    lang: str = "en-US"
    languages: tuple[str, ...] = ("en-US",)
    pipeline: tuple[str, ...] = STAGES
    match_seconds: float = 10.0
    handler_seconds: float = 300.0
    owner_seconds: float = 0.5
    rounds: int = 1000
    marks_dropped: bool = True
    syncs_at_completion: bool = False

    def __post_init__(self) -> None:
        if self.lang not in self.languages:
            raise ValueError("the language that is assumed is one of the languages")
        if self.match_seconds <= 0 or self.owner_seconds <= 0 or self.rounds < 1:
            raise ValueError("match_seconds and owner_seconds are more than nothing, and rounds at least 1")
