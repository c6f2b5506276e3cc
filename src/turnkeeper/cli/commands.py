"""The commands and their flags; what they do is loaded only when it is done."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from turnkeeper.cli.approval_commands import approvals
from turnkeeper.cli.audit_commands import audit
from turnkeeper.cli.bus_commands import bus
from turnkeeper.cli.channel_commands import bindings, channels, contacts, deliveries
from turnkeeper.cli.db_commands import db
from turnkeeper.cli.flags import AsJson, flag, without_config
from turnkeeper.cli.kb_commands import kbs
from turnkeeper.cli.key_commands import keys
from turnkeeper.cli.overview_commands import limits, nodes, traffic, usage
from turnkeeper.cli.pack_commands import packs
from turnkeeper.cli.run_commands import runs
from turnkeeper.cli.scope_commands import agents, models, objectives, projects, scope, tenants, users
from turnkeeper.cli.seal_commands import seals
from turnkeeper.cli.session_commands import sessions
from turnkeeper.cli.substrate_commands import artifacts, manifests, pointers
from turnkeeper.cli.unit_commands import units

USAGE_FAULT = 2

app = App(
    name="turnkeeper",
    help="Keeps conversations: you bring the agent, it brings everything that must be true around each turn.",
    help_epilogue="Settings come from flags, then from TURNKEEPER_* variables, then from the file that --config names, "
    "with any command, or from turnkeeper.toml in this folder.",
    version_flags=[],
    help_format="plaintext",
)
for group in (
    sessions, runs, approvals, packs, kbs, units, keys, audit, bus, db,
    channels, bindings, contacts, deliveries, artifacts, manifests, pointers,
    tenants, users, projects, objectives, agents, models, scope, seals,
):  # fmt: skip
    app.command(group)
for look in (nodes, traffic, usage, limits):
    app.command(look)


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
    json: AsJson = False,
) -> int:
    """Say what this host can do, what is wrong with its settings, and how to mend it. Exits with 1 at a fault."""
    from turnkeeper.cli.doctor import examine

    return examine(database=database, agents=agent or (), setup=setup or (), as_json=json)


@app.command
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell that it is for.")], /) -> int:
    """Print a script that lets a shell complete commands, flags and their values."""
    from turnkeeper.cli.say import put_out

    put_out(app.generate_completion(shell=shell))
    return 0


@app.command
def version() -> int:
    """Print the version."""
    from turnkeeper.server.version import own_version

    print(own_version())
    return 0
