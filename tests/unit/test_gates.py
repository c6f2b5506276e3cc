"""Which actions need a person under which template, and what time decides when nobody does."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.model.approval import Approval, ApprovalStatus, ApprovalWish, Decision
from turnkeeper.model.gate import DECIDERS, TEMPLATES, GateKind, GateRule, TimeoutAction, gate_of, may_decide
from turnkeeper.model.ids import ApprovalId, RunId, SessionId, TenantId, UserId
from turnkeeper.model.principal import Principal, Role
from turnkeeper.model.purpose import PolicyTemplate
from turnkeeper.testing.clock import NOON

ACTIONS = (
    "substrate.pointer.read",
    "substrate.pointer.advance",
    "substrate.pointer.promote",
    "connector.crm.read",
    "connector.crm.write",
    "schema.promote",
    "claim.create",
    "claim.decide",
    "model.change",
    "docs.read",
)


def gates_of(template: PolicyTemplate) -> dict[str, GateKind]:
    found = {action: gate_of(action, TEMPLATES[template]) for action in ACTIONS}
    return {action: rule.kind for action, rule in found.items() if rule is not None}


def test_the_four_templates_gate_what_they_say() -> None:
    approve, review = GateKind.APPROVE, GateKind.REVIEW

    assert gates_of(PolicyTemplate.EXPLORATORY) == {}
    assert gates_of(PolicyTemplate.STANDARD) == {
        "substrate.pointer.promote": approve,
        "connector.crm.write": approve,
        "claim.decide": review,
    }
    assert gates_of(PolicyTemplate.REGULATED) == {
        "substrate.pointer.promote": approve,
        "connector.crm.write": approve,
        "schema.promote": approve,
        "claim.decide": approve,
    }
    assert gates_of(PolicyTemplate.AUDIT_CRITICAL) == dict.fromkeys(
        (
            *("substrate.pointer.advance", "substrate.pointer.promote", "connector.crm.read", "connector.crm.write"),
            *("schema.promote", "claim.create", "claim.decide", "model.change"),
        ),
        approve,
    )


@given(action=st.sampled_from(ACTIONS), pair=st.tuples(*[st.sampled_from(list(PolicyTemplate))] * 2))
def test_a_stricter_template_never_asks_for_less(action: str, pair: tuple[PolicyTemplate, PolicyTemplate]) -> None:
    laxer, stricter = sorted(pair, key=lambda template: template.rank)

    one, other = (gate_of(action, TEMPLATES[template]) for template in (laxer, stricter))

    assert (GateKind.AUTO if one is None else one.kind).rank <= (GateKind.AUTO if other is None else other.kind).rank


def test_of_several_rules_about_an_action_the_strictest_holds() -> None:
    rules = (
        GateRule(action="crm.*", kind=GateKind.NOTIFY),
        GateRule(action="crm.write", kind=GateKind.APPROVE, required_role=Role.MEMBER),
        GateRule(action="*", kind=GateKind.APPROVE, required_role=Role.OWNER),
        GateRule(action="crm.write", kind=GateKind.AUTO),
    )

    assert gate_of("crm.write", rules) == rules[2]
    assert gate_of("crm.write", rules[:2]) == rules[1]
    assert gate_of("crm.write", rules[3:]) is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT])
def test_neither_viewers_nor_agents_decide(role: Role) -> None:
    assert not any(may_decide(role, required) for required in DECIDERS)
    with pytest.raises(ValueError, match="decided by"):
        GateRule(action="x", kind=GateKind.APPROVE, required_role=role)


def an_approval(action: TimeoutAction, role: Role = Role.MEMBER) -> Approval:
    rule = GateRule(
        action="crm.write", kind=GateKind.APPROVE, required_role=role, timeout_action=action, timeout_hours=2
    )
    wish = ApprovalWish(id=ApprovalId("appr_1"), key="k", action="crm.write", rule=rule, context={}, requested_at=NOON)
    return Approval.wished(wish, TenantId("acme"), RunId("run_1"), SessionId("sess_1"))


def test_nyqst_56_time_blocks_approves_or_asks_a_higher_role() -> None:
    late = NOON + timedelta(hours=3)

    blocked = an_approval(TimeoutAction.BLOCK).after_its_time(late)
    passed = an_approval(TimeoutAction.AUTO_APPROVE).after_its_time(late)
    escalated = an_approval(TimeoutAction.ESCALATE).after_its_time(late)
    at_the_top = an_approval(TimeoutAction.ESCALATE, Role.OWNER).after_its_time(late)

    assert isinstance(blocked, Decision)
    assert blocked.status is ApprovalStatus.EXPIRED
    assert isinstance(passed, Decision)
    assert passed.status is ApprovalStatus.APPROVED
    assert isinstance(escalated, Approval)
    assert escalated.required_role is Role.ADMIN
    assert escalated.due_at == late + timedelta(hours=2)
    assert isinstance(at_the_top, Decision)
    assert at_the_top.status is ApprovalStatus.EXPIRED


def test_an_approval_is_decided_by_its_role_or_above_in_its_tenant() -> None:
    asked = an_approval(TimeoutAction.BLOCK, Role.ADMIN)
    acme, globex = TenantId("acme"), TenantId("globex")

    def of(tenant: TenantId, role: Role) -> bool:
        return asked.is_decided_by(Principal(tenant=tenant, user=UserId("ada"), role=role))

    assert [of(acme, role) for role in Role] == [True, True, False, False, False]
    assert not of(globex, Role.OWNER)
