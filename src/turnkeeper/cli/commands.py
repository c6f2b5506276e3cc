"""The commands and their flags; what they do is loaded only when it is done."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from turnkeeper.cli.approval_commands import approvals
from turnkeeper.cli.bus_commands import bus
from turnkeeper.cli.channel_commands import bindings, channels, contacts, deliveries
from turnkeeper.cli.db_commands import db
from turnkeeper.cli.flags import Server, Token, flag, without_config
from turnkeeper.cli.key_commands import keys
from turnkeeper.cli.scope_commands import agents, models, objectives, projects, scope, tenants, users
from turnkeeper.cli.seal_commands import seals
from turnkeeper.cli.session_commands import sessions
from turnkeeper.cli.substrate_commands import artifacts, manifests, pointers

USAGE_FAULT = 2

app = App(
    name="turnkeeper",
    help="Keeps conversations: you bring the agent, it brings everything that must be true around each turn.",
    help_epilogue="Settings come from flags, then from TURNKEEPER_* variables, then from the file that --config names, "
    "with any command, or from turnkeeper.toml in this folder.",
    version_flags=[],
    help_format="plaintext",
)
audit = App(name="audit", help="Look at the audit.")
app.command(audit)
kbs = App(name="kbs", help="Make knowledge bases, fill them from files, and mount them.")
app.command(kbs)
packs = App(name="packs", help="Start, check, compare and push packs.")
app.command(packs)
units = App(name="units", help="Look at units in their text form.")
app.command(units)
app.command(bus)
app.command(channels)
app.command(bindings)
app.command(contacts)
app.command(deliveries)
app.command(artifacts)
app.command(manifests)
app.command(pointers)
for group in (tenants, users, projects, objectives, agents, models, scope):
    app.command(group)
app.command(approvals)
app.command(sessions)
app.command(seals)
app.command(keys)
app.command(db)


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line and return its exit code."""
    try:
        code = app(without_config(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        print(f"turnkeeper: {error}\nSee turnkeeper --help.", file=sys.stderr)
        return USAGE_FAULT
    return code if isinstance(code, int) else 0


@app.command
def serve(
    *,
    host: Annotated[str | None, flag("host", "Where to listen; 127.0.0.1 unless said otherwise.")] = None,
    port: Annotated[int | None, flag("port", "8765 unless said otherwise; 0 takes any free port.")] = None,
    database: Annotated[str | None, flag("database", "A SQLite file or postgresql://...")] = None,
    token: Annotated[str | None, flag("token", "What callers must send; a random one is made if left out.")] = None,
    identities: Annotated[
        Path | None, flag("identities", "JSON or TOML file with token, tenant, user, role and expires_at.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        flag("agent", "module:function, or name=module:function; may be repeated, the first one is the default."),
    ] = None,
    setup: Annotated[
        list[str] | None,
        flag("setup", "module:function that is handed the Turnkeeper, to add agents, tools, graphs; may be repeated."),
    ] = None,
    bus_port: Annotated[
        str | None, flag("bus-port", "Where the message bus listens, 8181 unless said otherwise; 0 for any, or off.")
    ] = None,
    bus_url: Annotated[str | None, flag("bus-url", "Another bus to join instead, ws://host:8181/core.")] = None,
    bus_setup: Annotated[
        list[str] | None,
        flag("bus-setup", "module:function that is handed the Orchestrator, to add skills, plugins; may be repeated."),
    ] = None,
    debug: Annotated[
        bool, Parameter(name="--debug", help="For development: failures with whole tracebacks.", negative=())
    ] = False,
    demo: Annotated[bool, flag("demo", "Show how to talk to it; sessions expire after 30 idle minutes.")] = False,
) -> int:
    """Start the server."""
    from turnkeeper.cli.serve import Wanted, serve

    return serve(
        Wanted(
            host=host,
            port=port,
            database=database,
            token=token,
            identities=identities,
            agents=tuple(agent or ()),
            setup=tuple(setup or ()),
            bus_port=bus_port,
            bus_url=bus_url,
            bus_setup=tuple(bus_setup or ()),
            debug=debug,
            demo=demo,
        )
    )


@app.command
def chat(
    *,
    url: Annotated[str | None, flag("url", "The server to talk to; a local one is found by itself.")] = None,
    token: Annotated[str | None, flag("token", "The token that the server printed.")] = None,
    database: Annotated[
        str | None, Parameter(name="--database", help="Talk without a server, on this database.", show_default=False)
    ] = None,
    session: Annotated[
        str | None, Parameter(name="--session", help="Go on with this session.", show_default=False)
    ] = None,
    agent: Annotated[
        str | None, Parameter(name="--agent", help="The agent that answers; by name.", show_default=False)
    ] = None,
    pack: Annotated[
        str | None, Parameter(name="--pack", help="The pack of a new session: id, or id@version.", show_default=False)
    ] = None,
) -> int:
    """Talk in the terminal. Reads one message a line when its input is a pipe."""
    from turnkeeper.cli.chat import chat

    return chat(url=url, token=token, database=database, session_id=session, agent=agent, pack=pack)


@app.command
def explain(
    run: Annotated[str, Parameter(help="The id of the run, as a reply, a feed or a log tells it.")],
    /,
    *,
    full: Annotated[
        bool, Parameter(name="--full", help="Also what each part was given and what it gave.", negative=())
    ] = False,
    mermaid: Annotated[bool, Parameter(name="--mermaid", help="As a chart in Mermaid.", negative=())] = False,
    json: Annotated[bool, Parameter(name="--json", help="As JSON; with --full all of it.", negative=())] = False,
    url: Annotated[str | None, flag("url", "The server to ask; a local one is found by itself.")] = None,
    token: Annotated[str | None, flag("token", "The token that the server printed.")] = None,
    database: Annotated[
        str | None, Parameter(name="--database", help="Look into this database, without a server.", show_default=False)
    ] = None,
    tenant: Annotated[
        str | None, Parameter(name="--tenant", help="Whose run it is; with --database only.", show_default=False)
    ] = None,
) -> int:
    """Show why a run came out as it did, whatever its end."""
    from turnkeeper.cli.explain import Source, explain

    source = Source(url=url, token=token, database=database, tenant=tenant)
    return explain(run, source, shape="mermaid" if mermaid else "json" if json else "tree", full=full)


@app.command
def doctor(
    *,
    database: Annotated[str | None, flag("database", "A SQLite file or postgresql://...")] = None,
    agent: Annotated[list[str] | None, flag("agent", "See whether this agent can be served; may be repeated.")] = None,
    setup: Annotated[list[str] | None, flag("setup", "The same for what --setup of serve names.")] = None,
    json: Annotated[bool, Parameter(name="--json", help="As JSON, for programs.", negative=())] = False,
) -> int:
    """Say what this host can do, what is wrong with its settings, and how to mend it. Exits with 1 at a fault."""
    from turnkeeper.cli.doctor import examine

    return examine(database=database, agents=agent or (), setup=setup or (), as_json=json)


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
    limit: Annotated[int, Parameter(help="At most so many.")] = 50,
) -> int:
    """List what was asked for and what became of it, newest first; seek with flags such as --outcome rate_limited."""
    from turnkeeper.cli.audit import show

    said = {"outcome": outcome, "verb": verb, "user": user, "channel": channel}
    said |= {"session_id": session, "run_id": run, "request_id": request}
    facts = {name: value for name, value in said.items() if value is not None}
    return show(database=database, tenant=tenant, facts=facts, limit=limit)


@audit.command
def export(*, database: Database = None, tenant: Tenant = "default") -> int:
    """Print every entry of a tenant as a line of JSON, in order, with the hashes that prove it."""
    from turnkeeper.cli.audit import export

    return export(database=database, tenant=tenant)


@kbs.command(name="list")
def list_bases(*, url: Server = None, token: Token = None) -> int:
    """List the knowledge bases, newest first."""
    from turnkeeper.cli.kbs import list_bases

    return list_bases(url, token)


@kbs.command
def create(
    name: Annotated[str, Parameter(help="What it is called.")],
    /,
    *,
    parent: Annotated[
        str | None, Parameter(name="--parent", help="Begin with all that this one has.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make a knowledge base and print its id."""
    from turnkeeper.cli.kbs import create_base

    return create_base(name, parent, url, token)


@kbs.command
def add(
    base: Annotated[str, Parameter(help="The id of the knowledge base.")],
    /,
    *files: Annotated[Path, Parameter(help="Texts in UTF-8; .md is read as Markdown, .units as units.")],
    url: Server = None,
    token: Token = None,
) -> int:
    """Read files into a knowledge base. A file of the same name takes the place of the older one."""
    from turnkeeper.cli.kbs import add_sources

    return add_sources(base, files, url, token)


@kbs.command
def mount(
    session: Annotated[str, Parameter(help="The id of the session.")],
    base: Annotated[str, Parameter(help="The id of the knowledge base.")],
    /,
    *,
    url: Server = None,
    token: Token = None,
) -> int:
    """Let a session use a knowledge base as it is now."""
    from turnkeeper.cli.kbs import mount_base

    return mount_base(session, base, url, token)


PackPath = Annotated[Path, Parameter(help="The folder of the pack, or a .zip or .tar.gz of it.")]
AsJson = Annotated[bool, Parameter(name="--json", help="As JSON.", negative=())]


@packs.command
def init(
    id: Annotated[str, Parameter(help="What the pack is called.")],
    /,
    *,
    into: Annotated[
        Path | None,
        Parameter(name="--into", help="The folder; one named by the id unless said otherwise.", show_default=False),
    ] = None,
    demo: Annotated[
        str | None, Parameter(name="--demo", help="Begin with table-booking or help-desk.", show_default=False)
    ] = None,
) -> int:
    """Write the files of a new pack. Nothing is overwritten."""
    from turnkeeper.cli.packs import init_pack

    return init_pack(id, into=into, demo=demo)


@packs.command(name="check")
def check_pack(path: PackPath, /, *, json: AsJson = False) -> int:
    """Tell everything that is wrong with a pack, with file, line and column. Exits with 1 when it cannot be used."""
    from turnkeeper.cli.packs import check_pack

    return check_pack(path, as_json=json)


PackSide = Annotated[str, Parameter(help="A folder or archive, or a pack that was pushed: ID or ID@VERSION.")]


@packs.command
def diff(old: PackSide, new: PackSide, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Tell what is different between two packs, and whether that is a patch, a minor or a major change."""
    from turnkeeper.cli.pack_diff import compare_packs

    return compare_packs(old, new, as_json=json, url=url, token=token)


@packs.command
def push(path: PackPath, /, *, url: Server = None, token: Token = None) -> int:
    """Check a pack and push it for good. The same files again change nothing."""
    from turnkeeper.cli.pushed_packs import push_pack

    return push_pack(path, url, token)


@packs.command(name="list")
def list_packs(*, url: Server = None, token: Token = None) -> int:
    """List the packs that were pushed, of each its oldest version first."""
    from turnkeeper.cli.pushed_packs import list_packs

    return list_packs(url, token)


PackRef = Annotated[str, Parameter(help="ID, for its highest version, or ID@VERSION.")]
PackId = Annotated[str, Parameter(help="The id of the pack; it counts for every version.")]
ConfigKey = Annotated[str, Parameter(help="A key of the config, such as STICKY_INTENT.")]


@packs.command
def show(
    ref: PackRef,
    /,
    *,
    file: Annotated[
        str | None, Parameter(name="--file", help="Print this file of it, letter by letter.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Show what a pushed pack has, or one of its files."""
    from turnkeeper.cli.pushed_packs import show_pack

    return show_pack(ref, file, url, token)


@packs.command(name="set")
def set_override(
    id: PackId,
    key: ConfigKey,
    value: Annotated[str, Parameter(help="What it shall be; codes have commas between them.")],
    /,
    *,
    off: Annotated[bool, Parameter(name="--off", help="Keep it, but switched off.", negative=())] = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Want a key of a pack's config otherwise in this tenant, from the next turn on."""
    from turnkeeper.cli.pushed_packs import set_override

    return set_override(id, key, value, enabled=not off, url=url, token=token)


@packs.command
def unset(id: PackId, key: ConfigKey, /, *, url: Server = None, token: Token = None) -> int:
    """Want a key of a pack's config as the pack says it again."""
    from turnkeeper.cli.pushed_packs import drop_override

    return drop_override(id, key, url, token)


File = Annotated[str, Parameter(help="The file with the text; - reads standard input.", allow_leading_hyphen=True)]
Kind = Annotated[
    Literal["context", "intent", "mixed"],
    Parameter(name="--kind", help="What the text is for: units, intents, or both; context unless said otherwise."),
]


@units.command
def check(file: File, /, *, kind: Kind = "context") -> int:
    """Say how many units a file holds, or everything that is wrong with it. Exits with 1 when something is."""
    from turnkeeper.cli.units import check_file

    return check_file(file, kind=kind)


@units.command(name="format")
def format_units(
    file: File,
    /,
    *,
    kind: Kind = "context",
    write: Annotated[bool, Parameter(name="--write", help="Put the file itself into this form.", negative=())] = False,
) -> int:
    """Print the units of a file in their canonical form. A file with faults stays as it is; they are told."""
    from turnkeeper.cli.units import format_file

    return format_file(file, kind=kind, write=write)


@app.command
def version() -> int:
    """Print the version."""
    from turnkeeper.server.version import own_version

    print(own_version())
    return 0
