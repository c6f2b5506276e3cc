"""The policy of an operator, read from a TOML file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnkeeper.model.band import BANDS, Band
from turnkeeper.model.budget import Resource
from turnkeeper.model.gate import GateKind, GateRule, TimeoutAction
from turnkeeper.model.ids import TenantId
from turnkeeper.model.pack import Classification
from turnkeeper.model.policy import Ceilings, Policy, Rate
from turnkeeper.model.principal import Role
from turnkeeper.model.safety import SafetyMode

_CEILINGS = {"safety_mode", "grants", "budget"}
_TENANT = _CEILINGS | {"rate", "channels", "gates"}
_GATE = {"action", "gate", "required_role", "on_timeout", "hours"}
_HOUSE = _TENANT | {"tenants", "bands"}


def read_policy(path: Path, *, rate: Rate) -> Policy:
    """Raises ValueError with the file and the place in it; `rate` is that of tenants that have none of their own."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"the policy {path.name} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"the policy {path.name} is not TOML: {error}") from error
    try:
        return policy_of(document, rate=rate)
    except ValueError as error:
        raise ValueError(f"the policy {path.name} is not valid: {error}") from error


def policy_of(document: Mapping[str, Any], *, rate: Rate) -> Policy:
    _only(document, _HOUSE, "")
    plain = Policy()
    tenants = {
        TenantId(name): _table(each, f"tenants.{name}") for name, each in _named(document, "tenants", "").items()
    }
    for name, each in tenants.items():
        _only(each, _TENANT, f"tenants.{name}")
    own = _ceilings({name: document[name] for name in _CEILINGS if name in document}, "")
    return Policy(
        everywhere=own.under(plain.everywhere) if own.safety_mode is None else own,
        channels={
            **plain.channels,
            **{name: each.over(plain.channels.get(name, Ceilings())) for name, each in _channels(document, "").items()},
        },
        tenants={
            name: _tenant_ceilings(each, f"tenants.{name}", own)
            for name, each in tenants.items()
            if _CEILINGS & each.keys()
        },
        tenant_channels={name: _channels(each, f"tenants.{name}") for name, each in tenants.items()},
        rate=_rate(document, "") or rate,
        tenant_rates={
            name: found for name, each in tenants.items() if (found := _rate(each, f"tenants.{name}")) is not None
        },
        bands={**BANDS, **_bands(document)},
        gates=_gates(document, ""),
        tenant_gates={name: gates for name, each in tenants.items() if (gates := _gates(each, f"tenants.{name}"))},
    )


def _tenant_ceilings(table: Mapping[str, Any], place: str, house: Ceilings) -> Ceilings:
    """What a tenant's table leaves unsaid is as for everyone."""
    own = _ceilings({name: table[name] for name in _CEILINGS if name in table}, place)
    return Ceilings(
        safety_mode=own.safety_mode or house.safety_mode or SafetyMode.READ_ONLY,
        grants=own.grants if "grants" in table else house.grants,
        budget={**house.budget, **own.budget},
    )


def _ceilings(table: Mapping[str, Any], place: str) -> Ceilings:
    _only(table, _CEILINGS, place)
    budget = _named(table, "budget", place)
    _only(budget, {*Resource}, _in(place, "budget"))
    for name, most in budget.items():
        if isinstance(most, bool) or not isinstance(most, int | float) or not 0 < most < float("inf"):
            raise ValueError(f"{_in(place, 'budget')}.{name} is a number above 0, not {most!r}")
    grants = table.get("grants")
    if grants is not None and not (isinstance(grants, list) and all(isinstance(each, str) for each in grants)):
        raise ValueError(f"{_in(place, 'grants')} is a list of names, not {grants!r}")
    mode = table.get("safety_mode")
    if mode is not None and mode not in {*SafetyMode}:
        raise ValueError(f"{_in(place, 'safety_mode')} is one of {', '.join(SafetyMode)}, not {mode!r}")
    return Ceilings(
        safety_mode=None if mode is None else SafetyMode(mode),
        grants=None if grants is None else frozenset(grants),
        budget=budget,
    )


def _channels(table: Mapping[str, Any], place: str) -> dict[str, Ceilings]:
    where = _in(place, "channels")
    return {
        name: _ceilings(_table(each, f"{where}.{name}"), f"{where}.{name}")
        for name, each in _named(table, "channels", place).items()
    }


def _rate(table: Mapping[str, Any], place: str) -> Rate | None:
    if "rate" not in table:
        return None
    said, where = _named(table, "rate", place), _in(place, "rate")
    _only(said, {"per_second", "burst"}, where)
    try:
        return Rate(per_second=float(said["per_second"]), burst=int(said["burst"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where} says per_second and burst, two numbers above 0") from error


def _gates(table: Mapping[str, Any], place: str) -> tuple[GateRule, ...]:
    """What needs a person: `[[gates]]` with an action, a gate, and who decides until when."""
    said, where = table.get("gates", []), _in(place, "gates")
    if not isinstance(said, list):
        raise ValueError(f"{where} is a list of tables, [[{where}]]")
    return tuple(_gate(_table(each, f"{where}[{no}]"), f"{where}[{no}]") for no, each in enumerate(said))


def _gate(said: Mapping[str, Any], where: str) -> GateRule:
    _only(said, _GATE, where)
    plain = GateRule(action="*", kind=GateKind.APPROVE)
    action, hours = said.get("action"), said.get("hours", plain.timeout_hours)
    if not isinstance(action, str) or isinstance(hours, bool) or not isinstance(hours, int | float):
        raise ValueError(f"{where} says an action, such as connector.*.write, and hours as a number")
    try:
        return GateRule(
            action=action,
            kind=GateKind(said.get("gate", plain.kind)),
            required_role=Role(said.get("required_role", plain.required_role)),
            timeout_action=TimeoutAction(said.get("on_timeout", plain.timeout_action)),
            timeout_hours=hours,
        )
    except ValueError as error:
        raise ValueError(f"{where} is not valid: {error}") from error


def _bands(document: Mapping[str, Any]) -> dict[Classification, Band]:
    bands = {}
    for name, each in _named(document, "bands", "").items():
        if name.upper() not in {*Classification}:
            raise ValueError(f"bands.{name} is no class of data; they are {', '.join(Classification)}")
        said = _table(each, f"bands.{name}")
        _only(said, {"idle_seconds", "absolute_seconds", "checkpoint_seconds", "keep_seconds"}, f"bands.{name}")
        plain = BANDS[Classification(name.upper())]
        try:
            bands[Classification(name.upper())] = Band(
                idle_seconds=int(said.get("idle_seconds", plain.idle_seconds)),
                absolute_seconds=int(said.get("absolute_seconds", plain.absolute_seconds)),
                checkpoint_seconds=int(said.get("checkpoint_seconds", plain.checkpoint_seconds)),
                keep_seconds=int(said["keep_seconds"]) if "keep_seconds" in said else plain.keep_seconds,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"bands.{name} is counted in whole seconds, at least 1") from error
    return bands


def _in(place: str, name: str) -> str:
    """How a name is called that stands at this place; the place of the whole file is empty."""
    return f"{place}.{name}" if place else name


def _named(table: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any]:
    return _table(table.get(name, {}), _in(place, name))


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{place} is a table, not {value!r}")
    return value


def _only(table: Mapping[str, Any], known: set[str], place: str) -> None:
    if unknown := sorted(table.keys() - known):
        raise ValueError(f"{_in(place, unknown[0])} is unknown; there may be {', '.join(sorted(known))}")
