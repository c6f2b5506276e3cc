"""What a session knows, as a list."""

from turnkeeper.cli.showing import Listing, named, show_list
from turnkeeper.cli.talk import Told


def list_units(session_id: str, *, all_epochs: bool, as_json: bool, url: str | None, token: str | None) -> int:
    return show_list(known_units(session_id, all_epochs=all_epochs), as_json=as_json, url=url, token=token)


def known_units(session_id: str, *, all_epochs: bool = False) -> Listing:
    return Listing(
        path=named("sessions", session_id, "units"),
        row=unit_row,
        none="It knows nothing yet. Tell it a fact, or mount a base with: turnkeeper kbs mount SESSION BASE",
        query={"all_epochs": "true"} if all_epochs else {},
    )


def unit_row(kept: Told) -> list[str]:
    state = "" if kept["status"] == "committed" else kept["status"]
    unit = kept["unit"] or {}
    turn = f"turn {kept['turn']}" if kept["turn"] else ""
    return [turn, unit.get("role", ""), unit.get("claim") or unit.get("procedure") or "", state]
