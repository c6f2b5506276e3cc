"""The policy of an operator: how ceilings narrow each other, and how the file is read."""

import re
import tomllib
from pathlib import Path

import pytest

from turnkeeper.model.ids import TenantId
from turnkeeper.model.pack import Classification
from turnkeeper.model.policy import Ceilings, Policy, Rate
from turnkeeper.model.safety import SafetyMode, narrowest
from turnkeeper.scope.policy_file import policy_of, read_policy

RATE = Rate(per_second=1, burst=2)
ACME, OTHER = TenantId("acme"), TenantId("other")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "limits.md"


def read(text: str) -> Policy:
    return policy_of(tomllib.loads(text), rate=RATE)


def test_a_ceiling_can_only_narrow_another() -> None:
    house = Ceilings(safety_mode=SafetyMode.NETWORK, grants=frozenset({"a", "b"}), budget={"tokens": 10})
    channel = Ceilings(safety_mode=SafetyMode.DESTRUCTIVE, grants=frozenset({"b", "c"}), budget={"tokens": 99})

    both = channel.under(house)

    assert both == Ceilings(safety_mode=SafetyMode.NETWORK, grants=frozenset({"b"}), budget={"tokens": 10})


def test_without_a_policy_runs_only_read_and_forgeable_channels_hold_nothing() -> None:
    policy = Policy()

    assert policy.ceilings(ACME, "app_chat") == Ceilings(safety_mode=SafetyMode.READ_ONLY)
    assert [policy.ceilings(ACME, channel).grants for channel in ("email", "sms")] == [frozenset(), frozenset()]


def test_modes_are_ordered_by_their_risk() -> None:
    assert narrowest(SafetyMode.DESTRUCTIVE, None, SafetyMode.LOCAL_WRITE) is SafetyMode.LOCAL_WRITE
    assert SafetyMode.NETWORK.allows(SafetyMode.READ_ONLY)
    assert not SafetyMode.NETWORK.allows(SafetyMode.DELEGATED)


def test_the_file_of_the_guide_means_what_the_guide_says() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)

    policy = read(text)

    acme, other = policy.ceilings(ACME, "app_chat"), policy.ceilings(OTHER, "app_chat")
    assert (acme.safety_mode, other.safety_mode) == (SafetyMode.DELEGATED, SafetyMode.NETWORK)
    assert acme.budget == other.budget == {"tool_calls": 20, "cost_cents": 50}
    assert policy.ceilings(ACME, "sms").safety_mode is SafetyMode.READ_ONLY
    assert policy.ceilings(ACME, "email").grants == frozenset({"orders.read", "orders.return"})
    assert policy.ceilings(OTHER, "email").grants == frozenset()
    assert (policy.rate_of(ACME).burst, policy.rate_of(OTHER).burst) == (400, 100)
    assert policy.bands[Classification.RESTRICTED].idle_seconds == 1_800
    assert policy.bands[Classification.RESTRICTED].absolute_seconds == 86_400


def test_what_a_file_does_not_say_of_a_forgeable_channel_stays_as_it_is() -> None:
    policy = read(
        "[channels.sms.budget]\ntool_calls = 2\n[channels.email]\ngrants = ['a']\n"
        "[tenants.acme.channels.email]\nsafety_mode = 'read_only'\n"
    )

    assert policy.ceilings(OTHER, "sms").grants == frozenset()
    assert policy.ceilings(ACME, "email").grants == frozenset({"a"})
    assert policy.ceilings(ACME, "sms").budget == {"tool_calls": 2}


def test_how_long_a_class_is_kept_once_it_is_over_is_said_by_the_file_alone() -> None:
    policy = read("[bands.RESTRICTED]\nkeep_seconds = 60\n")

    kept = {each: band.keep_seconds for each, band in policy.bands.items() if band.keep_seconds is not None}
    assert kept == {Classification.RESTRICTED: 60}


def test_an_empty_file_is_the_safe_policy() -> None:
    assert read("") == Policy(rate=RATE, bands=dict(Policy().bands), channels=dict(Policy().channels))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("colour = 1", "colour"),
        ("safety_mode = 'safe'", "^safety_mode is one of read_only"),
        ("grants = 'all'", "grants is a list"),
        ("[budget]\ntokens = 0", "budget.tokens is a number above 0"),
        ("[budget]\npatience = 3", "patience"),
        ("[rate]\nper_second = 1", "rate says per_second and burst"),
        ("[tenants.acme.rate]\nper_second = -1\nburst = 1", "tenants.acme.rate"),
        ("[tenants.acme]\ncolour = 1", "^tenants.acme.colour is unknown"),
        ("[channels.sms]\nrate = 1", "^channels.sms.rate is unknown"),
        ("[bands.SECRET]\nidle_seconds = 1", "bands.SECRET is no class"),
        ("[bands.PUBLIC]\nidle_seconds = 0", "bands.PUBLIC is counted in whole seconds"),
        ("[bands.PUBLIC]\nkeep_seconds = -1", "bands.PUBLIC is counted in whole seconds"),
        ("channels = 3", "^channels is a table"),
        ("[tenants.acme]\nchannels = 5", "^tenants.acme.channels is a table"),
        ("[tenants.acme.channels.sms]\nsafety_mode = 1", "^tenants.acme.channels.sms.safety_mode is one of"),
        ("[tenants.acme]\nrate = 5", "^tenants.acme.rate is a table"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, names: str) -> None:
    with pytest.raises(ValueError, match=names):
        read(text)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"policy\.toml cannot be read"):
        read_policy(tmp_path / "policy.toml", rate=RATE)
    (tmp_path / "policy.toml").write_text("= = =")
    with pytest.raises(ValueError, match=r"policy\.toml is not TOML"):
        read_policy(tmp_path / "policy.toml", rate=RATE)


def test_a_fault_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text("safety_mode = 'safe'")

    with pytest.raises(ValueError, match=r"house\.toml is not valid: safety_mode is one of"):
        read_policy(tmp_path / "house.toml", rate=RATE)
