"""What a session inherits: the formula, its hash, and the order in which things are pinned and removed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.scale import rounds
from turnkeeper.errors import ModelNotAllowed, PolicyRelaxation
from turnkeeper.model.definition import AgentDefinition, AgentTraits
from turnkeeper.model.ids import AgentId, LayerId, TenantId, UserId
from turnkeeper.model.layer import DefaultMount, Layer, LayerTerms
from turnkeeper.model.mount import Mount, MountKind, MountMode, MountRef
from turnkeeper.model.purpose import PolicyTemplate
from turnkeeper.model.scope import NOTHING_INHERITED, Context, Level, MountState
from turnkeeper.scope.inheritance import (
    Choice,
    Revoked,
    Stand,
    Wish,
    canonical,
    chosen,
    effective_of,
    excluded_by,
    hash_of,
    idle_seconds,
    pinned,
    resolve,
    unpinned,
    views,
)
from turnkeeper.testing.clock import NOON

P1, P2, P3, P4, P9 = (MountRef(kind=MountKind.POINTER, id=f"p{number}") for number in (1, 2, 3, 4, 9))
K1 = MountRef(kind=MountKind.KNOWLEDGE_BASE, id="k1")
REFS = (P1, P2, P3, P4, K1)
LEVELS = (Level.TENANT, Level.PROJECT, Level.OBJECTIVE)


def a_layer(level: Level, *mounts: MountRef, revision: int = 1, **terms: object) -> Layer:
    defaults = tuple(DefaultMount(kind=ref.kind, id=ref.id) for ref in mounts)
    return Layer(
        tenant=TenantId("acme"),
        level=level,
        id=LayerId(level.value),
        project_id=LayerId("project") if level is Level.OBJECTIVE else None,
        name=level.value,
        terms=LayerTerms(mounts=defaults, **terms),  # type: ignore[arg-type]
        revision=revision,
        created_by=UserId("ada"),
        created_at=NOON,
        updated_at=NOON,
    )


def an_agent(**traits: object) -> AgentDefinition:
    return AgentDefinition(
        tenant=TenantId("acme"),
        id=AgentId("concierge"),
        traits=AgentTraits(**traits),  # type: ignore[arg-type]
        created_by=UserId("ada"),
        created_at=NOON,
        updated_at=NOON,
    )


def a_pin(ref: MountRef) -> Mount:
    return Mount(kind=ref.kind, id=ref.id, mounted_at=NOON)


def used(context: Context, choice: Choice = Choice(), **revoked: frozenset[MountRef]) -> list[MountRef]:  # noqa: B008
    return [each.mount.ref for each in effective_of(views(context, choice, Revoked(**revoked), began=NOON))]


def test_nyqst_27_28_the_mounts_of_all_layers_are_had_in_their_order_and_name_who_gave_them() -> None:
    context = resolve([a_layer(Level.PROJECT, P1, P2, K1), a_layer(Level.OBJECTIVE, P2, P3)])

    assert [(each.ref, each.source) for each in context.mounts] == [
        (P1, Level.PROJECT),
        (P2, Level.PROJECT),
        (K1, Level.PROJECT),
        (P3, Level.OBJECTIVE),
    ]


def test_a_knowledge_base_and_a_fixed_pointer_are_inherited_as_they_stand_now() -> None:
    fixed = DefaultMount(kind=MountKind.POINTER, id="p1", mode=MountMode.FIXED)
    project = a_layer(Level.PROJECT, K1)
    project = replace(project, terms=replace(project.terms, mounts=(*project.terms.mounts, fixed)))

    base, pointer = resolve([project], stands={K1: Stand(revision=7), P1: Stand(manifest="ab" * 32)}).mounts

    assert (base.revision, pointer.manifest, pointer.mode) == (7, "ab" * 32, MountMode.FIXED)


def test_nyqst_34_what_a_layer_excludes_is_not_inherited_from_any_other() -> None:
    context = resolve([a_layer(Level.TENANT, excluded=(P9,)), a_layer(Level.PROJECT, P1, P9)])

    assert used(context) == [P1]


def test_nyqst_35_36_what_is_excluded_or_deleted_later_is_gone_at_once_and_says_why() -> None:
    context = resolve([a_layer(Level.PROJECT, P1, P2, P3)])
    revoked = Revoked(excluded=frozenset({P2}), gone=frozenset({P3}))

    states = {each.mount.id: each.state for each in views(context, Choice(), revoked, began=NOON)}

    assert states == {"p1": MountState.EFFECTIVE, "p2": MountState.EXCLUDED, "p3": MountState.MISSING}


def test_nyqst_38_the_same_layers_give_the_same_hash_and_any_change_another_one() -> None:
    layers = [a_layer(Level.TENANT, K1), a_layer(Level.PROJECT, P1, P2)]
    hashes = {
        hash_of(resolve(layers)),
        hash_of(resolve([layers[0], replace(layers[1], revision=2)])),
        hash_of(resolve([layers[0]])),
        hash_of(resolve(layers, agent=an_agent())),
        hash_of(resolve(layers, wish=Wish(policy=PolicyTemplate.REGULATED))),
        hash_of(resolve([a_layer(Level.TENANT, K1), a_layer(Level.PROJECT, P2, P1)])),
    }

    assert hash_of(resolve(list(layers))) == hash_of(resolve(layers))
    assert len(hashes) == 6


def test_no_layers_and_no_wish_are_the_empty_context() -> None:
    assert resolve([]) == NOTHING_INHERITED
    assert json.loads(canonical(NOTHING_INHERITED))["policy"] == "standard"


def test_nyqst_41_a_laxer_policy_is_refused_and_a_stricter_one_holds() -> None:
    project = a_layer(Level.PROJECT, policy=PolicyTemplate.REGULATED)

    with pytest.raises(PolicyRelaxation):
        resolve([project], wish=Wish(policy=PolicyTemplate.STANDARD))
    strict = resolve([project], wish=Wish(policy=PolicyTemplate.AUDIT_CRITICAL))

    assert (strict.policy, strict.provenance["policy"]) == (PolicyTemplate.AUDIT_CRITICAL, Level.SESSION)
    assert resolve([], wish=Wish(policy=PolicyTemplate.EXPLORATORY)).policy is PolicyTemplate.EXPLORATORY


def test_an_agent_may_be_stricter_than_its_tenant_and_never_laxer() -> None:
    tenant = a_layer(Level.TENANT, policy=PolicyTemplate.REGULATED)

    assert resolve([tenant], agent=an_agent(policy=PolicyTemplate.EXPLORATORY)).policy is PolicyTemplate.REGULATED
    assert resolve([tenant], agent=an_agent(policy=PolicyTemplate.AUDIT_CRITICAL)).provenance["policy"] is Level.AGENT


def test_nyqst_42_a_lower_layer_cannot_allow_a_tool_again() -> None:
    context = resolve(
        [
            a_layer(Level.TENANT, allowed_tools=("notes.*", "mail.*.read"), blocked_tools=("notes.*.drop",)),
            a_layer(Level.PROJECT, allowed_tools=("*",), blocked_tools=("mail.*",)),
        ],
        agent=an_agent(allowed_tools=("notes.*", "mail.*")),
    )

    allowed = [name for name in ("notes.page.read", "notes.page.drop", "mail.box.read") if context.permits_tool(name)]

    assert allowed == ["notes.page.read"]
    assert context.provenance["blocked_tools.1"] is Level.PROJECT


def test_nyqst_53_the_model_is_that_of_the_session_then_the_agent_then_the_most_special_layer() -> None:
    layers = [a_layer(Level.TENANT, model_profile="house"), a_layer(Level.PROJECT, model_profile="deep")]

    assert resolve(layers).model_profile == "deep"
    assert resolve(layers, agent=an_agent(model_profile="quick")).model_profile == "quick"
    asked = resolve(layers, agent=an_agent(model_profile="quick"), wish=Wish(model_profile="mine"))
    assert (asked.model_profile, asked.provenance["model_profile"]) == ("mine", Level.SESSION)
    with pytest.raises(ModelNotAllowed):
        resolve([a_layer(Level.TENANT, allowed_models=("house", "q*")), layers[1]])


def test_limits_are_the_least_of_all_and_name_who_set_them() -> None:
    context = resolve(
        [
            a_layer(Level.TENANT, limits={"max_steps": 9, "tokens": 50}),
            a_layer(Level.PROJECT, limits={"max_steps": 20}),
        ],
        agent=an_agent(limits={"tokens": 5, "timeout_seconds": 3}),
    )

    assert context.limits == {"max_steps": 9, "tokens": 5, "timeout_seconds": 3}
    assert context.provenance["limits.max_steps"] is Level.TENANT
    assert context.provenance["limits.tokens"] is Level.AGENT


def test_prompts_add_up_and_of_retrieval_and_time_to_live_the_most_special_counts() -> None:
    layers = [
        a_layer(Level.TENANT, prompt="Be brief.", retrieval={"top": 3}, idle_for_seconds=60),
        a_layer(Level.PROJECT, prompt="Cite.", idle_for_seconds=30),
    ]

    context = resolve(layers)

    assert (context.prompt, context.retrieval, idle_seconds(layers)) == (("Be brief.", "Cite."), {"top": 3}, 30)


def test_nyqst_30_31_33_40_pinning_and_removing_one_thing_again_and_again_is_stable() -> None:
    context = resolve([a_layer(Level.PROJECT, P1, P2)])

    with_p4 = pinned(pinned(Choice(), context, a_pin(P4)), context, a_pin(P4))
    without_p1 = unpinned(unpinned(with_p4, context, P1), context, P1)
    again = pinned(without_p1, context, a_pin(P1))

    assert [(e.mount.ref, e.source) for e in effective_of(views(context, with_p4, Revoked(), began=NOON))][-1] == (
        P4,
        Level.SESSION,
    )
    assert (used(context, without_p1), without_p1.removed) == ([P2, P4], (P1,))
    assert (used(context, again), again.removed, again.pins) == ([P1, P2, P4], (), with_p4.pins)
    assert effective_of(views(context, again, Revoked(), began=NOON))[0].source is Level.PROJECT
    assert unpinned(again, context, P4).pins == ()


def test_a_whole_list_becomes_pins_and_tombstones() -> None:
    context = resolve([a_layer(Level.PROJECT, P1, P2, K1)])

    choice = chosen(Choice(pins=(a_pin(P3),)), context, MountKind.POINTER, [a_pin(P2), a_pin(P4)])

    assert used(context, choice) == [P2, K1, P4]
    assert choice.removed == (P1,)


refs = st.sampled_from(REFS)
lists = st.lists(refs, max_size=4, unique=True).map(tuple)


@settings(max_examples=rounds(quick=50, soak=2_000))
@given(given=st.tuples(lists, lists, lists), excluded=st.tuples(lists, lists, lists))
def test_what_is_inherited_is_what_was_declared_without_what_is_excluded(
    given: tuple[tuple[MountRef, ...], ...], excluded: tuple[tuple[MountRef, ...], ...]
) -> None:
    layers = [a_layer(level, *given[n], excluded=excluded[n]) for n, level in enumerate(LEVELS)]

    context = resolve(layers)

    assert {each.ref for each in context.mounts} == set().union(*given) - set().union(*excluded)
    assert hash_of(context) == hash_of(resolve(layers))
    assert all(each.ref in given[LEVELS.index(each.source)] for each in context.mounts)


class AnyHierarchy(RuleBasedStateMachine):
    """Any order of pin, unpin, declare, exclude, delete and rebase, beside plain sets."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [a_layer(level) for level in LEVELS]
        self.context = resolve(self.layers)
        self.choice = Choice()
        self.gone: set[MountRef] = set()
        self.pins: set[MountRef] = set()
        self.removed: set[MountRef] = set()

    @property
    def inherited(self) -> set[MountRef]:
        return {each.ref for each in self.context.mounts}

    @rule(ref=refs)
    def pin(self, ref: MountRef) -> None:
        self.choice = pinned(self.choice, self.context, a_pin(ref))
        self.removed.discard(ref)
        if ref not in self.inherited:
            self.pins.add(ref)

    @rule(ref=refs)
    def unpin(self, ref: MountRef) -> None:
        self.choice = unpinned(self.choice, self.context, ref)
        self.pins.discard(ref)
        if ref in self.inherited:
            self.removed.add(ref)

    @rule(level=st.sampled_from(range(3)), mounts=lists, excluded=lists)
    def change_layer(self, level: int, mounts: tuple[MountRef, ...], excluded: tuple[MountRef, ...]) -> None:
        before = self.layers[level]
        self.layers[level] = a_layer(before.level, *mounts, revision=before.revision + 1, excluded=excluded)

    @rule(ref=refs)
    def delete(self, ref: MountRef) -> None:
        self.gone.add(ref)

    @rule()
    def rebase(self) -> None:
        self.context = resolve(self.layers)

    @invariant()
    def the_effective_set_is_that_of_the_formula(self) -> None:
        hard = excluded_by(self.layers)
        expected = ((self.inherited - self.removed) | self.pins) - hard - self.gone

        found = used(self.context, self.choice, excluded=hard, gone=frozenset(self.gone))

        assert len(found) == len(set(found))
        assert set(found) == expected
        assert set(self.choice.removed) == self.removed


def test_any_order_of_pins_and_changes_above_gives_the_effective_set_of_the_formula() -> None:
    examples = rounds(quick=40, soak=1_000)
    run_state_machine_as_test(
        AnyHierarchy, settings=settings(max_examples=examples, stateful_step_count=20, deadline=None)
    )
