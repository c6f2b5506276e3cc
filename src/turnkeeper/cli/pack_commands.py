"""The commands about packs, and their flags."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token

packs = App(name="packs", help="Start, check, compare and push packs.")


PackPath = Annotated[Path, Parameter(help="The folder of the pack, or a .zip or .tar.gz of it.")]


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
def list_packs(*, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """List the packs that were pushed, of each its oldest version first."""
    from turnkeeper.cli.pushed_packs import list_packs

    return list_packs(as_json=json, url=url, token=token)


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
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """Show what a pushed pack has, or one of its files."""
    from turnkeeper.cli.pushed_packs import show_pack

    return show_pack(ref, file, as_json=json, url=url, token=token)


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
