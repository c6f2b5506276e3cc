"""What comes in and goes out through channels."""

from collections.abc import Sequence

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.ids import ArtifactId, BindingId, DeliveryId
from turnkeeper.model.outbound import DeliveryStatus


class ChannelUnsupported(TurnkeeperError):
    code = "channel_unsupported"
    http_status = 400
    title = "There is no such channel"

    def __init__(self, channel: str, known: Sequence[str], *, pointer: str = "/input/channel") -> None:
        super().__init__(
            f"There is no channel {channel!r}. Known are: {', '.join(known)}.",
            details=[{"pointer": pointer, "message": "names no channel", "known": list(known)}],
        )


class ChannelNotAccepted(TurnkeeperError):
    code = "channel_not_accepted"
    http_status = 403
    title = "The intent is not for this channel"

    def __init__(self, intent: str, channel: str, accepted: Sequence[str]) -> None:
        super().__init__(
            f"{intent} cannot be served over {channel!r}, only over {', '.join(accepted)}. Go on there, or switch to "
            "something else; nothing of this turn was kept."
        )


class ChannelPayloadInvalid(TurnkeeperError):
    """What came does not have the shape of its channel; `details` name each fault by its JSON pointer."""

    code = "channel_payload_invalid"
    http_status = 400
    title = "The message does not have the shape of its channel"

    @classmethod
    def at(cls, pointer: str, message: str) -> "ChannelPayloadInvalid":
        return cls(
            f"The message is not valid at {pointer}: {message}.", details=[{"pointer": pointer, "message": message}]
        )


class AttachmentTooLarge(ChannelPayloadInvalid):
    code = "attachment_too_large"
    http_status = 413
    title = "An attachment is too large"

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"An attachment has {size} bytes; at most {most} are taken. Send a link to it instead.")


class WebhookSignatureInvalid(TurnkeeperError):
    code = "webhook_signature_invalid"
    http_status = 401
    title = "The signature does not fit"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The request is not vouched for: {reason}. Sign it with the secret of its binding.")


class NormalizationFailed(TurnkeeperError):
    code = "normalization_failed"
    http_status = 500
    title = "The channel lost something"


class ArtifactNotFound(TurnkeeperError):
    """Also raised for what somebody else keeps: whether it exists is none of the caller's business."""

    code = "artifact_not_found"
    http_status = 404
    title = "No such artifact"

    def __init__(self, artifact_id: ArtifactId) -> None:
        super().__init__(f"There is no artifact {artifact_id!r}. Keep its content again to get a new id.")


class ArtifactDamaged(TurnkeeperError):
    code = "artifact_damaged"
    http_status = 500
    title = "The content is not what was kept"

    def __init__(self, artifact_id: ArtifactId) -> None:
        super().__init__(
            f"The content of artifact {artifact_id!r} no longer has the hash under which it was kept, so it is not "
            "given out. Restore the database from a backup, or keep the content again."
        )


class BindingNotFound(TurnkeeperError):
    """Also raised for one of another tenant or channel, and for one that is switched off."""

    code = "binding_not_found"
    http_status = 404
    title = "No such binding"

    def __init__(self, binding_id: BindingId) -> None:
        super().__init__(f"There is no binding {binding_id!r} here. Owner and admin of a tenant can list its bindings.")


class SenderUnknown(TurnkeeperError):
    code = "sender_unknown"
    http_status = 403
    title = "The sender is not known here"

    def __init__(self) -> None:
        super().__init__(
            "This binding takes messages of known contacts only. Ask an operator to add the address as a contact, or "
            "to let strangers in as guests."
        )


class ContactNotFound(TurnkeeperError):
    code = "contact_not_found"
    http_status = 404
    title = "No such contact"

    def __init__(self) -> None:
        super().__init__("There is no contact with this address at this binding. Its contacts can be listed.")


class DeliveryNotFound(TurnkeeperError):
    code = "delivery_not_found"
    http_status = 404
    title = "No such delivery"

    def __init__(self, delivery_id: DeliveryId) -> None:
        super().__init__(f"There is no delivery {delivery_id!r}. Deliveries can be listed, newest first.")


class DeliveryNotOver(TurnkeeperError):
    code = "delivery_not_over"
    http_status = 409
    title = "The delivery cannot be sent again"

    def __init__(self, delivery_id: DeliveryId, status: DeliveryStatus) -> None:
        super().__init__(
            f"Delivery {delivery_id!r} is {status.value}. Only one that failed, or of which nobody knows whether it "
            "went out, is sent again.",
            status_of_delivery=status.value,
        )
