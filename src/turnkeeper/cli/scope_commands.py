"""The commands about tenants, users, projects, objectives, agents, models and the scope of sessions."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnkeeper.cli.flags import ArchiveFile, AsJson, Server, Sure, Token

tenants = App(name="tenants", help="Make tenants, and say what their sessions inherit. For operators.")
projects = App(name="projects", help="Make projects, and say what their sessions inherit.")
objectives = App(name="objectives", help="Make objectives of projects, and say what their sessions inherit.")
users = App(name="users", help="Say which role the users of a tenant have, export and erase them.")
agents = App(name="agents", help="Look at agents, and say how they may be used.")
models = App(name="models", help="Say which models a profile stands for.")
scope = App(name="scope", help="Look at what a session inherited, and inherit again.")

Id = Annotated[str, Parameter(help="Its id.")]
Name = Annotated[str, Parameter(help="What it is called.")]
NewName = Annotated[str | None, Parameter(name="--name", help="What it is called.", show_default=False)]
OwnId = Annotated[str | None, Parameter(name="--id", help="Its id; one is made if left out.", show_default=False)]
Terms = Annotated[
    Path | None,
    Parameter(name="--terms", help="A JSON file with mounts, excluded, policy, limits and so on.", show_default=False),
]
Definition = Annotated[Path, Parameter(name="--file", help="A JSON file with what it says.")]
Status = Annotated[
    Literal["active", "suspended", "archived"] | None,
    Parameter(name="--status", help="Whether something may go on there.", show_default=False),
]
Role = Literal["owner", "admin", "member", "viewer", "agent"]
OfTenant = Annotated[str | None, Parameter(name="--tenant", help="Whose users; for an operator.", show_default=False)]


def _can_be_listed(group: App, kind: str) -> None:
    def list_them(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
        """List them, one a line."""
        from turnkeeper.cli.scope import list_of

        return list_of(kind, as_json=json, url=url, token=token)

    group.command(list_them, name="list")


def _can_be_shown(group: App, kind: str) -> None:
    def show(id: Id, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
        """Show all that one says."""
        from turnkeeper.cli.scope import show

        return show(kind, id, as_json=json, url=url, token=token)

    group.command(show, name="show")


def _can_be_changed(group: App, kind: str) -> None:
    def change(
        id: Id,
        /,
        *,
        name: NewName = None,
        status: Status = None,
        terms: Terms = None,
        url: Server = None,
        token: Token = None,
    ) -> int:
        """Say something else from now on; what is left out stays as it is."""
        from turnkeeper.cli.scope import send

        return send("PATCH", kind, id, {"name": name, "status": status}, terms, url, token)

    group.command(change, name="change")


def _can_be_put(group: App, kind: str) -> None:
    def put(id: Id, /, *, file: Definition, url: Server = None, token: Token = None) -> int:
        """Define one, in place of what was said of it before."""
        from turnkeeper.cli.scope import send

        return send("PUT", kind, id, {}, file, url, token, under=None)

    def remove(id: Id, /, *, url: Server = None, token: Token = None) -> int:
        """Forget what was said of one."""
        from turnkeeper.cli.scope import remove

        return remove(kind, id, url, token)

    group.command(put, name="put")
    group.command(remove, name="remove")


for group, kind in ((tenants, "tenants"), (projects, "projects"), (agents, "agents"), (models, "models")):
    _can_be_listed(group, kind)
for group, kind in ((tenants, "tenants"), (projects, "projects"), (objectives, "objectives")):
    _can_be_shown(group, kind)
    _can_be_changed(group, kind)
for group, kind in ((agents, "agents"), (models, "models")):
    _can_be_shown(group, kind)
    _can_be_put(group, kind)


@tenants.command(name="create")
def create_tenant(
    id: Annotated[str, Parameter(help="Its id, as its tokens name it.")],
    name: Name,
    /,
    *,
    terms: Terms = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make one and print it."""
    from turnkeeper.cli.scope import send

    return send("POST", "tenants", None, {"id": id, "name": name}, terms, url, token)


@projects.command(name="create")
def create_project(
    name: Name,
    /,
    *,
    id: OwnId = None,
    terms: Terms = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make one and print it."""
    from turnkeeper.cli.scope import send

    return send("POST", "projects", None, {"id": id, "name": name}, terms, url, token)


@objectives.command(name="list")
def list_objectives(
    *,
    project: Annotated[str | None, Parameter(name="--project", help="Of this project.", show_default=False)] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List them, one a line."""
    from turnkeeper.cli.scope import list_of

    return list_of("objectives", as_json=json, url=url, token=token, project_id=project)


@objectives.command(name="create")
def create_objective(
    project: Annotated[str, Parameter(help="The id of its project.")],
    name: Name,
    /,
    *,
    id: OwnId = None,
    terms: Terms = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make one and print it."""
    from turnkeeper.cli.scope import send

    return send("POST", "objectives", None, {"id": id, "name": name, "project_id": project}, terms, url, token)


@users.command(name="list")
def list_users(*, tenant: OfTenant = None, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List them, one a line."""
    from turnkeeper.cli.scope import list_of

    return list_of("users", as_json=json, url=url, token=token, tenant=tenant)


@users.command(name="show")
def show_user(
    id: Id, /, *, tenant: OfTenant = None, json: AsJson = False, url: Server = None, token: Token = None
) -> int:
    """Show one."""
    from turnkeeper.cli.scope import show

    return show("users", id, as_json=json, url=url, token=token, tenant=tenant)


@users.command(name="create")
def create_user(
    id: Id,
    role: Annotated[Role, Parameter(help="What it may do.")] = "member",
    /,
    *,
    name: NewName = None,
    tenant: OfTenant = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Give a user a role."""
    from turnkeeper.cli.scope import send

    said = {"id": id, "role": role, "name": name}
    return send("POST", "users", None, said, None, url, token, tenant=tenant)


@users.command(name="change")
def change_user(
    id: Id,
    /,
    *,
    name: NewName = None,
    role: Annotated[Role | None, Parameter(name="--role", help="What it may do.", show_default=False)] = None,
    status: Annotated[
        Literal["active", "suspended"] | None,
        Parameter(name="--status", help="Whether it may do anything.", show_default=False),
    ] = None,
    tenant: OfTenant = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Give a user another name, role or status."""
    from turnkeeper.cli.scope import send

    said = {"name": name, "role": role, "status": status}
    return send("PATCH", "users", id, said, None, url, token, tenant=tenant)


@users.command(name="export")
def export_user(id: Id, /, *, to: ArchiveFile, url: Server = None, token: Token = None) -> int:
    """Write all that is kept of a user into a zip archive."""
    from turnkeeper.cli.erasure import export

    return export("users", id, to, url, token)


@users.command(name="erase")
def erase_user(id: Id, /, *, yes: Sure = False, url: Server = None, token: Token = None) -> int:
    """Erase a user with all its sessions, and print the receipt. There is no way back."""
    from turnkeeper.cli.erasure import erase

    return erase("users", id, yes, url, token)


@scope.command(name="show")
def show_scope(
    session: Annotated[str, Parameter(help="The id of the session.")],
    /,
    *,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Show what a session inherited, who gave each value, and which mounts it can use."""
    from turnkeeper.cli.scope import show_scope

    return show_scope(session, as_json=json, url=url, token=token)


@scope.command(name="rebase")
def rebase(
    session: Annotated[str, Parameter(help="The id of the session.")],
    /,
    *,
    url: Server = None,
    token: Token = None,
) -> int:
    """Let a session inherit again, as the layers above it are now."""
    from turnkeeper.cli.scope import rebase

    return rebase(session, url, token)
