"""The topics of the specifications that turnkeeper speaks; old names are the legacy adapter's business."""

UTTERANCE = "ovos.utterance.handle"
MATCHED = "ovos.intent.matched"
UNMATCHED = "ovos.intent.unmatched"
START = "ovos.intent.handler.start"
COMPLETE = "ovos.intent.handler.complete"
ERROR = "ovos.intent.handler.error"
SPEAK = "ovos.utterance.speak"
CANCELLED = "ovos.utterance.cancelled"
HANDLED = "ovos.utterance.handled"

TOO_LARGE = "session_too_large"
"""In the data of an end marker: the session is not all there, because it does not fit on the bus."""

SYNC = "ovos.session.sync"
REJECTED = "ovos.session.rejected"
UPDATE_DEFAULT = "ovos.session.update_default"

CONVERSE_PING = "ovos.converse.ping"
CONVERSE_PONG = "ovos.converse.pong"
CONVERSE_LIST = "ovos.converse.active.list"
STOP = "ovos.stop"
STOP_PING = "ovos.stop.ping"
STOP_PONG = "ovos.stop.pong"
FALLBACK_REGISTER = "ovos.fallback.register"
FALLBACK_DEREGISTER = "ovos.fallback.deregister"
FALLBACK_PING = "ovos.fallback.ping"
FALLBACK_PONG = "ovos.fallback.pong"

# What a handler in another process says when it is through; the specifications have no topic for it.
DONE = "mycroft.skill.handler.complete"
FAILED = "mycroft.skill.handler.error"

# Between orchestrators on one bus: who is there, and who takes which utterance.
HELLO = "turnkeeper.orchestrator.hello"
CLAIM = "turnkeeper.utterance.claim"
OWN_DEFAULT = "turnkeeper.default.own"


def intents_of(pipeline_id: str) -> str:
    """Asks a pipeline plugin which intents it knows."""
    return f"ovos.pipeline.{pipeline_id}.intents.list"


def transformers_of(kind: str) -> str:
    """Asks which transformers of a kind there are."""
    return f"ovos.transformer.{kind}.list"
