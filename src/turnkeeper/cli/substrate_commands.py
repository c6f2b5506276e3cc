"""The commands about artifacts, manifests, pointers and what comes out of sessions, and their flags."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from turnkeeper.cli.flags import AsJson, Server, Token, flag

artifacts = App(name="artifacts", help="Keep files by their hash, read them again, and clear away what nobody needs.")
manifests = App(name="manifests", help="Make trees of artifacts, look at them and compare them.")
pointers = App(name="pointers", help="Names that move from manifest to manifest, with their history.")

Manifest = Annotated[str, Parameter(help="The hash of the manifest.")]
Pointer = Annotated[str, Parameter(help="Its id, or NAMESPACE/NAME.")]


@artifacts.command(name="keep")
def keep_files(*files: Annotated[Path, Parameter(help="A file.")], url: Server = None, token: Token = None) -> int:
    """Keep files, and print their hashes."""
    from turnkeeper.cli.substrate import keep_files

    return keep_files(files, url, token)


@artifacts.command(name="get")
def get_content(
    artifact: Annotated[str, Parameter(help="The id of an artifact, or its hash.")],
    /,
    *,
    into: Annotated[
        Path | None, Parameter(name="--into", help="A file; standard output if left out.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Write the content of an artifact to a file or to standard output."""
    from turnkeeper.cli.substrate import get_content

    return get_content(artifact, into, url, token)


@artifacts.command(name="outputs")
def list_outputs(
    session: Annotated[str, Parameter(help="The id of the session.")],
    /,
    *,
    run: Annotated[str | None, Parameter(name="--run", help="Only of this run.", show_default=False)] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List what came out of a session: artifacts, manifests and moves of pointers."""
    from turnkeeper.cli.substrate import list_outputs

    return list_outputs(session, run, as_json=json, url=url, token=token)


@artifacts.command(name="collect")
def collect(
    *,
    database: Annotated[str | None, flag("database", "A SQLite file or postgresql://...")] = None,
    tenant: Annotated[str | None, Parameter(name="--tenant", help="Only of this one.", show_default=False)] = None,
    grace_seconds: Annotated[
        float | None,
        Parameter(name="--grace-seconds", help="Keep what is younger; a week unless said.", show_default=False),
    ] = None,
) -> int:
    """Remove content that nobody refers to, in the database itself. A server does so once a day."""
    from turnkeeper.cli.substrate import collect

    return collect(database, tenant, grace_seconds)


@manifests.command(name="make")
def make_manifest(
    *files: Annotated[Path, Parameter(help="A file, or a folder with all that is in it.")],
    root: Annotated[Path, Parameter(name="--root", help="The folder that paths begin at.")] = Path(),
    parent: Annotated[
        str | None, Parameter(name="--parent", help="The hash of the one before.", show_default=False)
    ] = None,
    message: Annotated[
        str | None, Parameter(name="--message", help="What is new about it.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Keep files and make a manifest of them; print its hash."""
    from turnkeeper.cli.substrate import make_manifest

    return make_manifest(files, root, parent, message, url, token)


@manifests.command(name="show")
def show_manifest(manifest: Manifest, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show a manifest and its entries."""
    from turnkeeper.cli.substrate import show_manifest

    return show_manifest(manifest, as_json=json, url=url, token=token)


@manifests.command(name="diff")
def diff_manifests(
    old: Manifest, new: Manifest, /, *, json: AsJson = False, url: Server = None, token: Token = None
) -> int:
    """Tell which paths were added, removed and modified."""
    from turnkeeper.cli.substrate import diff_manifests

    return diff_manifests(old, new, as_json=json, url=url, token=token)


@pointers.command(name="list")
def list_pointers(
    *,
    namespace: Annotated[
        str | None, Parameter(name="--namespace", help="Only of this one.", show_default=False)
    ] = None,
    json: AsJson = False,
    url: Server = None,
    token: Token = None,
) -> int:
    """List the pointers, newest first, and where they stand."""
    from turnkeeper.cli.substrate import list_pointers

    return list_pointers(namespace, as_json=json, url=url, token=token)


@pointers.command(name="show")
def show_pointer(pointer: Pointer, /, *, json: AsJson = False, url: Server = None, token: Token = None) -> int:
    """Show where a pointer stands, and everywhere it has been."""
    from turnkeeper.cli.substrate import show_pointer

    return show_pointer(pointer, as_json=json, url=url, token=token)


@pointers.command(name="create")
def create_pointer(
    name: Annotated[str, Parameter(help="NAME, or NAMESPACE/NAME.")],
    /,
    *,
    kind: Annotated[
        Literal["bundle", "corpus", "snapshot"], Parameter(name="--kind", help="How freely it moves.")
    ] = "bundle",
    manifest: Annotated[
        str | None, Parameter(name="--manifest", help="Where it stands at first.", show_default=False)
    ] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Make a pointer, and print its id."""
    from turnkeeper.cli.substrate import create_pointer

    return create_pointer(name, kind, manifest, url, token)


@pointers.command(name="advance")
def advance_pointer(
    pointer: Pointer,
    manifest: Manifest,
    /,
    *,
    expected: Annotated[
        str | None,
        Parameter(name="--expected", help="Move it only from this manifest, or from `empty`.", show_default=False),
    ] = None,
    reason: Annotated[str | None, Parameter(name="--reason", help="Why.", show_default=False)] = None,
    url: Server = None,
    token: Token = None,
) -> int:
    """Move a pointer to a manifest, a newer or an older one."""
    from turnkeeper.cli.substrate import move_pointer

    return move_pointer(pointer, manifest, expected, reason, url, token)


@pointers.command(name="delete")
def delete_pointer(pointer: Pointer, /, *, url: Server = None, token: Token = None) -> int:
    """Delete a pointer; every session loses it at once. Its history stays."""
    from turnkeeper.cli.substrate import delete_pointer

    return delete_pointer(pointer, url, token)
