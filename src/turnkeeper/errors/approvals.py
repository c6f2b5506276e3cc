"""What a session may not do, and approvals that cannot be decided like this."""

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.model.ids import ApprovalId, RunId
from turnkeeper.model.principal import Role
from turnkeeper.model.tool import MEANINGS, Denial


class ScopeDenied(TurnkeeperError):
    """Told to an agent as the result of its tool; over HTTP to a token that is bound to a session."""

    code = "scope_denied"
    http_status = 403
    title = "The session may not do this"

    def __init__(self, denial: Denial) -> None:
        super().__init__(MEANINGS[denial], denial=denial.value)
        self.denial = denial


class ApprovalNotFound(TurnkeeperError):
    code = "approval_not_found"
    http_status = 404
    title = "No such approval"

    def __init__(self, approval_id: ApprovalId) -> None:
        super().__init__(f"There is no approval {approval_id!r} for you. List those that there are.")


class ApprovalDecided(TurnkeeperError):
    code = "approval_decided"
    http_status = 409
    title = "The approval has been decided"

    def __init__(self, approval_id: ApprovalId, status: str) -> None:
        super().__init__(
            f"Approval {approval_id!r} is {status} already. Read it to see who decided, and when.",
            approval_status=status,
        )


class MayNotDecide(TurnkeeperError):
    code = "may_not_decide"
    http_status = 403
    title = "Another role decides this"

    def __init__(self, approval_id: ApprovalId, required: Role) -> None:
        super().__init__(
            f"Approval {approval_id!r} is decided by {required.value} or above. Ask somebody of that role.",
            required_role=required.value,
        )


class ApprovalOpen(TurnkeeperError):
    """A yes in a message is not a decision."""

    code = "approval_open"
    http_status = 409
    title = "The run waits for a decision"

    def __init__(self, run_id: RunId, approval_id: ApprovalId) -> None:
        super().__init__(
            f"Run {run_id!r} waits for approval {approval_id!r}. Decide it there; a message does not.",
            approval_id=approval_id,
        )
