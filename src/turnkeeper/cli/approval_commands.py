"""The commands about approvals, and their flags."""

from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token

approvals = App(name="approvals", help="See what people are asked to allow, and decide it.")

ApprovalRef = Annotated[str, Parameter(help="The id of the approval.")]
Reason = Annotated[
    str | None, Parameter(name="--reason", help="Why; it is kept with the decision.", show_default=False)
]


@approvals.command(name="list")
def list_approvals(
    *,
    session: Annotated[
        str | None, Parameter(name="--session", help="Only those of this session.", show_default=False)
    ] = None,
    status: Annotated[
        Literal["pending", "approved", "rejected", "expired", "cancelled", "any"],
        Parameter(name="--status", help="Only those in this status; pending unless said otherwise."),
    ] = "pending",
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List approvals, newest first."""
    from turnkeeper.cli.approvals import list_approvals

    return list_approvals(session, status, as_json=json, url=url, token=token)


@approvals.command(name="show")
def show_approval(approval: ApprovalRef, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show what is asked, for whom it is and what became of it."""
    from turnkeeper.cli.approvals import show_approval

    return show_approval(approval, as_json=json, url=url, token=token)


@approvals.command(name="approve")
def approve(approval: ApprovalRef, /, *, reason: Reason = None, url: Server = None, token: Token = None) -> int:
    """Allow it; the run that waits for it goes on."""
    from turnkeeper.cli.approvals import decide

    return decide(approval, "approve", reason, url, token)


@approvals.command(name="reject")
def reject(approval: ApprovalRef, /, *, reason: Reason = None, url: Server = None, token: Token = None) -> int:
    """Refuse it; the run that waits for it is told, and goes on without."""
    from turnkeeper.cli.approvals import decide

    return decide(approval, "reject", reason, url, token)
