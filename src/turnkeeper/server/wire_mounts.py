"""What goes over the wire about mounts of a session."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from turnkeeper.keeping.scoping import Pin
from turnkeeper.model.mount import MountKind, MountMode, MountRef
from turnkeeper.model.scope import Level, MountState, MountView
from turnkeeper.server.wire import Id, Inbound, Outbound, Sha256

Ids = Annotated[list[Id], Field(max_length=500)]
Hashes = Annotated[list[Sha256], Field(max_length=500)]


class UnpinPointerIn(Inbound):
    kind: Literal["pointer"]
    id: Id

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=MountKind.POINTER, id=self.id)


class UnpinBaseIn(Inbound):
    """`kb` is short for `knowledge_base`."""

    kind: Literal["knowledge_base", "kb"]
    id: Id

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=MountKind.KNOWLEDGE_BASE, id=self.id)


class UnpinArtifactIn(Inbound):
    kind: Literal["artifact"]
    id: Sha256

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=MountKind.ARTIFACT, id=self.id)


class Pinned(Inbound):
    mode: Literal["follow", "fixed"] = Field(
        default="follow", description="A pointer is followed, or fixed to where it stands now."
    )

    @property
    def ref(self) -> MountRef:
        raise NotImplementedError

    @property
    def pin(self) -> Pin:
        return Pin(kind=self.ref.kind, id=self.ref.id, mode=MountMode(self.mode))


class PinPointerIn(UnpinPointerIn, Pinned):
    pass


class PinBaseIn(UnpinBaseIn, Pinned):
    pass


class PinArtifactIn(UnpinArtifactIn, Pinned):
    pass


PinIn = Annotated[PinPointerIn | PinBaseIn | PinArtifactIn, Field(discriminator="kind")]
UnpinIn = Annotated[UnpinPointerIn | UnpinBaseIn | UnpinArtifactIn, Field(discriminator="kind")]


class MountsIn(Inbound):
    pin: Annotated[list[PinIn], Field(max_length=500)] = Field(default_factory=list)
    unpin: Annotated[list[UnpinIn], Field(max_length=500)] = Field(default_factory=list)


class Mounting(Inbound):
    """Mounts as plain lists of ids, one list a kind."""

    mounted_pointers: Ids | None = None
    mounted_kbs: Ids | None = None
    pinned_artifacts: Hashes | None = None

    @property
    def lists(self) -> dict[MountKind, tuple[Pin, ...]]:
        named = {
            MountKind.POINTER: self.mounted_pointers,
            MountKind.KNOWLEDGE_BASE: self.mounted_kbs,
            MountKind.ARTIFACT: self.pinned_artifacts,
        }
        return {kind: tuple(Pin(kind=kind, id=id) for id in ids) for kind, ids in named.items() if ids is not None}


class MountOut(Outbound):
    """`source` is the level that gave it; only a mount whose state is `effective` can be used."""

    kind: MountKind
    id: str
    revision: int
    mounted_at: datetime
    source: Level
    mode: MountMode
    manifest: str | None
    state: MountState

    @classmethod
    def of(cls, view: MountView) -> "MountOut":
        mount = view.mount
        return cls(
            kind=mount.kind,
            id=mount.id,
            revision=mount.revision,
            mounted_at=mount.mounted_at,
            source=view.source,
            mode=mount.mode,
            manifest=mount.manifest,
            state=view.state,
        )
