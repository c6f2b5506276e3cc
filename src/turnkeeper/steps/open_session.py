"""Open the session through whoever keeps it; the lease is already ours."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from turnkeeper.model.session import Custody
from turnkeeper.ports.custodian import Custodian
from turnkeeper.steps.draft import TurnDraft


@dataclass(frozen=True, slots=True)
class OpenSession:
    custodians: Mapping[Custody, Custodian]

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        conversation = await self.custodians[draft.run.custody].open(draft.run)
        return replace(draft, conversation=conversation, state=conversation.state)
