"""The commands about the audit, and their flags."""

from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, flag

audit = App(name="audit", help="Look at the audit.")


@audit.command
def verify(
    *,
    database: Annotated[str | None, flag("database", "A SQLite file or postgresql://...")] = None,
    tenant: Annotated[
        str | None, Parameter(name="--tenant", help="Only this tenant; all of them if left out.", show_default=False)
    ] = None,
) -> int:
    """Check that no entry of the audit was changed, moved or dropped. Exits with 1 when one was."""
    from turnkeeper.cli.audit import verify

    return verify(database=database, tenant=tenant)


Tenant = Annotated[str, Parameter(name="--tenant", help="Whose entries.")]
Database = Annotated[str | None, flag("database", "A SQLite file or postgresql://...")]
Sought = Annotated[str | None, Parameter(show_default=False)]


@audit.command(name="list")
def list_audit(
    *,
    database: Database = None,
    tenant: Tenant = "default",
    outcome: Sought = None,
    verb: Sought = None,
    user: Sought = None,
    channel: Sought = None,
    session: Sought = None,
    run: Sought = None,
    request: Sought = None,
    refused: Annotated[bool, Parameter(help="Only what was refused.", negative=(), show_default=False)] = False,
    limit: Annotated[int, Parameter(help="At most so many.")] = 50,
    json: AsJson = False,
) -> int:
    """List what was asked for and what became of it, newest first; seek with flags such as --outcome rate_limited."""
    from turnkeeper.cli.audit import show

    said = {"outcome": outcome, "verb": verb, "user": user, "channel": channel}
    said |= {"session_id": session, "run_id": run, "request_id": request}
    facts = {name: value for name, value in said.items() if value is not None}
    return show(database=database, tenant=tenant, facts=facts, refused=refused, limit=limit, as_json=json)


@audit.command
def reasons(*, database: Database = None, tenant: Tenant = "default", json: AsJson = False) -> int:
    """Count what was refused in the last 24 hours, by its reason."""
    from turnkeeper.cli.audit import show_reasons

    return show_reasons(database=database, tenant=tenant, as_json=json)


@audit.command
def export(*, database: Database = None, tenant: Tenant = "default") -> int:
    """Print every entry of a tenant as a line of JSON, in order, with the hashes that prove it."""
    from turnkeeper.cli.audit import export

    return export(database=database, tenant=tenant)
