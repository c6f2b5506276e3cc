"""What a session gets from the layers above it, and what of it is left once it has pinned and removed.

All of it is arithmetic on what is given: the same layers in the same state give the same context and the same hash.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from math import inf

from turnkeeper.errors import ModelNotAllowed, PolicyRelaxation
from turnkeeper.model.definition import AgentDefinition, AgentTraits
from turnkeeper.model.layer import Layer
from turnkeeper.model.mount import Mount, MountKind, MountMode, MountRef
from turnkeeper.model.purpose import PolicyTemplate, strictest
from turnkeeper.model.scope import (
    NOTHING_INHERITED,
    Context,
    EffectiveMount,
    Inherited,
    Level,
    MountState,
    MountView,
)

_NO_TRAITS = AgentTraits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """Where a resource stands when a context is resolved: a knowledge base at a revision, a pointer at a manifest."""

    revision: int = 0
    manifest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the one who begins a session asks for.

    With `or_stricter` it was asked for once, and layers may be stricter by now: then that counts.
    """

    policy: PolicyTemplate | None = None
    model_profile: str | None = None
    or_stricter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a session has pinned, and what of its context it does without."""

    pins: tuple[Mount, ...] = ()
    removed: tuple[MountRef, ...] = ()

    def has_pinned(self, ref: MountRef) -> bool:
        return any(pin.ref == ref for pin in self.pins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked:
    """What is not to be had at this moment, whatever was inherited or pinned: `excluded` by a layer, or `gone`."""

    excluded: frozenset[MountRef] = field(default_factory=frozenset)
    gone: frozenset[MountRef] = field(default_factory=frozenset)


def resolve(
    layers: Sequence[Layer],
    *,
    agent: AgentDefinition | None = None,
    wish: Wish = Wish(),  # noqa: B008
    stands: Mapping[MountRef, Stand] | None = None,
) -> Context:
    """The context under these layers, from the general to the special. Raises PolicyRelaxation or ModelNotAllowed."""
    traits = agent.traits if agent else _NO_TRAITS
    given: dict[str, Level] = {}
    chain = (*(layer.link for layer in layers), *((agent.link,) if agent else ()))
    if not chain and wish.policy is None and wish.model_profile is None:
        return NOTHING_INHERITED
    return Context(
        mounts=_mounts(layers, stands or {}),
        policy=_policy(layers, traits, wish, given),
        model_profile=_model(layers, traits, wish, given),
        allowed_models=_allowed_models(layers),
        allowed_tools=_allowed_tools(layers, traits, given),
        blocked_tools=_blocked_tools(layers, given),
        limits=_limits(layers, traits, given),
        prompt=_prompt(layers, given),
        retrieval=_retrieval(layers, given),
        needs_isolation=_needs_isolation(layers, traits, given),
        chain=chain,
        provenance=given,
    )


def narrowed(context: Context, agent: AgentDefinition) -> Context:
    """For a run that another agent answers than that of its session: what this one may not do it does not do either."""
    traits, given = agent.traits, dict(context.provenance)
    policy = strictest(context.policy, traits.policy)
    if policy is not context.policy:
        given["policy"] = Level.AGENT
    tools = context.allowed_tools
    if traits.allowed_tools is not None:
        given[f"allowed_tools.{len(tools)}"] = Level.AGENT
        tools = (*tools, tuple(sorted(set(traits.allowed_tools))))
    less = {name: float(most) for name, most in traits.limits.items() if most < context.limits.get(name, inf)}
    given |= {f"limits.{name}": Level.AGENT for name in less}
    if traits.needs_isolation and not context.needs_isolation:
        given["needs_isolation"] = Level.AGENT
    return replace(
        context,
        policy=policy,
        allowed_tools=tools,
        limits={**context.limits, **less},
        needs_isolation=context.needs_isolation or traits.needs_isolation,
        chain=(*context.chain, agent.link),
        provenance=given,
    )


def canonical(context: Context) -> str:
    """The one way to write a context down: keys in order, no spaces, ASCII."""
    return json.dumps(asdict(context), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def hash_of(context: Context) -> str:
    return hashlib.sha256(canonical(context).encode()).hexdigest()


EMPTY_SHA256 = hash_of(NOTHING_INHERITED)
"""What is told of a session that inherited nothing."""


def excluded_by(layers: Iterable[Layer]) -> frozenset[MountRef]:
    """What no session under these layers may have. Exclusions add up."""
    return frozenset(ref for layer in layers for ref in layer.terms.excluded)


def idle_seconds(layers: Sequence[Layer]) -> int | None:
    """How long a session under these layers may be idle: what the most special one says."""
    return next((each.terms.idle_for_seconds for each in reversed(layers) if each.terms.idle_for_seconds), None)


def _mounts(layers: Sequence[Layer], stands: Mapping[MountRef, Stand]) -> tuple[Inherited, ...]:
    """Each once, from the first layer that declared it, in the order in which they were declared."""
    hard, found = excluded_by(layers), dict[MountRef, Inherited]()
    for layer in layers:
        for default in layer.terms.mounts:
            if default.ref in hard or default.ref in found:
                continue
            stand = stands.get(default.ref, Stand())
            is_fixed = default.kind is MountKind.POINTER and default.mode is MountMode.FIXED
            found[default.ref] = Inherited(
                kind=default.kind,
                id=default.id,
                source=layer.level,
                mode=default.mode if default.kind is MountKind.POINTER else MountMode.FOLLOW,
                revision=stand.revision if default.kind is MountKind.KNOWLEDGE_BASE else 0,
                manifest=stand.manifest if is_fixed else None,
            )
    return tuple(found.values())


def _policy(layers: Sequence[Layer], traits: AgentTraits, wish: Wish, given: dict[str, Level]) -> PolicyTemplate:
    said = [(layer.level, layer.terms.policy) for layer in layers] + [(Level.AGENT, traits.policy)]
    inherited = [policy for _, policy in said if policy is not None]
    is_laxer = wish.policy is not None and inherited and wish.policy.rank < strictest(*inherited).rank
    if wish.policy is not None and is_laxer and not wish.or_stricter:
        raise PolicyRelaxation(wish.policy, strictest(*inherited))
    strict = strictest(*inherited, wish.policy)
    level = next((level for level, policy in (*said, (Level.SESSION, wish.policy)) if policy is strict), None)
    if level is not None:
        given["policy"] = level
    return strict


def _model(layers: Sequence[Layer], traits: AgentTraits, wish: Wish, given: dict[str, Level]) -> str | None:
    said = [
        (Level.SESSION, wish.model_profile),
        (Level.AGENT, traits.model_profile),
        *((layer.level, layer.terms.model_profile) for layer in reversed(layers)),
    ]
    level, profile = next(((level, name) for level, name in said if name is not None), (Level.SESSION, None))
    if profile is None:
        return None
    if not Context(allowed_models=_allowed_models(layers)).permits_model(profile):
        raise ModelNotAllowed(profile)
    given["model_profile"] = level
    return profile


def _allowed_models(layers: Sequence[Layer]) -> tuple[str, ...] | None:
    return next((each.terms.allowed_models for each in layers if each.terms.allowed_models is not None), None)


def _allowed_tools(
    layers: Sequence[Layer], traits: AgentTraits, given: dict[str, Level]
) -> tuple[tuple[str, ...], ...]:
    """One list for each that has one; a tool must be in all of them."""
    said = [(layer.level, layer.terms.allowed_tools) for layer in layers] + [(Level.AGENT, traits.allowed_tools)]
    lists = [(level, tuple(sorted(set(tools)))) for level, tools in said if tools is not None]
    given |= {f"allowed_tools.{place}": level for place, (level, _) in enumerate(lists)}
    return tuple(tools for _, tools in lists)


def _blocked_tools(layers: Sequence[Layer], given: dict[str, Level]) -> tuple[str, ...]:
    blocked: dict[str, Level] = {}
    for layer in layers:
        for tool in layer.terms.blocked_tools:
            blocked.setdefault(tool, layer.level)
    given |= {f"blocked_tools.{place}": level for place, level in enumerate(blocked.values())}
    return tuple(blocked)


def _limits(layers: Sequence[Layer], traits: AgentTraits, given: dict[str, Level]) -> Mapping[str, float]:
    """Of each limit the least; who says it first is named."""
    least: dict[str, float] = {}
    for level, limits in [*((layer.level, layer.terms.limits) for layer in layers), (Level.AGENT, traits.limits)]:
        for name, most in limits.items():
            if name not in least or most < least[name]:
                least[name] = float(most)
                given[f"limits.{name}"] = level
    return least


def _prompt(layers: Sequence[Layer], given: dict[str, Level]) -> tuple[str, ...]:
    said = [(layer.level, layer.terms.prompt) for layer in layers if layer.terms.prompt]
    given |= {f"prompt.{place}": level for place, (level, _) in enumerate(said)}
    return tuple(text for _, text in said if text)


def _retrieval(layers: Sequence[Layer], given: dict[str, Level]) -> Mapping[str, object]:
    for layer in reversed(layers):
        if layer.terms.retrieval is not None:
            given["retrieval"] = layer.level
            return dict(layer.terms.retrieval)
    return {}


def _needs_isolation(layers: Sequence[Layer], traits: AgentTraits, given: dict[str, Level]) -> bool:
    said = [(layer.level, layer.terms.needs_isolation) for layer in layers] + [(Level.AGENT, traits.needs_isolation)]
    level = next((level for level, needs in said if needs), None)
    if level is not None:
        given["needs_isolation"] = level
    return level is not None


# --- what is left of it


def views(context: Context, choice: Choice, revoked: Revoked, *, began: datetime) -> tuple[MountView, ...]:
    """Every mount that a session has or had: the inherited ones in their order, then its own pins."""
    removed = frozenset(choice.removed)
    own = {pin.ref: pin for pin in choice.pins}
    seen: list[MountView] = []
    for given in context.mounts:
        # What is pinned and inherited is there for both reasons, and stays when one of them falls away.
        is_removed = given.ref in removed and given.ref not in own
        mount = _mount_of(given, began)
        seen.append(MountView(mount=mount, source=given.source, state=_state(given.ref, is_removed, revoked)))
    inherited = {given.ref for given in context.mounts}
    seen += [
        MountView(mount=pin, source=Level.SESSION, state=_state(pin.ref, False, revoked))
        for pin in choice.pins
        if pin.ref not in inherited
    ]
    return tuple(seen)


def effective_of(seen: Iterable[MountView]) -> tuple[EffectiveMount, ...]:
    """((inherited - removed) + pinned) - excluded now - gone now."""
    return tuple(
        EffectiveMount(mount=each.mount, source=each.source) for each in seen if each.state is MountState.EFFECTIVE
    )


def _state(ref: MountRef, is_removed: bool, revoked: Revoked) -> MountState:
    if is_removed:
        return MountState.REMOVED
    if ref in revoked.excluded:
        return MountState.EXCLUDED
    return MountState.MISSING if ref in revoked.gone else MountState.EFFECTIVE


def _mount_of(given: Inherited, began: datetime) -> Mount:
    return Mount(
        kind=given.kind,
        id=given.id,
        revision=given.revision,
        mounted_at=began,
        mode=given.mode,
        manifest=given.manifest,
    )


# --- pinning and removing


def pinned(choice: Choice, context: Context, mount: Mount) -> Choice:
    """Whoever pins what was removed has it back from where it came; what is there already stays as it is."""
    ref = mount.ref
    removed = tuple(each for each in choice.removed if each != ref)
    if choice.has_pinned(ref) or ref in _inherited(context):
        return replace(choice, removed=removed)
    return Choice(pins=(*choice.pins, mount), removed=removed)


def unpinned(choice: Choice, context: Context, ref: MountRef) -> Choice:
    """A pin is dropped; what is inherited is done without from now on."""
    pins = tuple(pin for pin in choice.pins if pin.ref != ref)
    if ref not in _inherited(context) or ref in choice.removed:
        return replace(choice, pins=pins)
    return Choice(pins=pins, removed=(*choice.removed, ref))


def chosen(choice: Choice, context: Context, kind: MountKind, wanted: Sequence[Mount]) -> Choice:
    """Of one kind exactly these: what is not inherited is pinned, what is inherited and not wanted is removed."""
    refs = {mount.ref for mount in wanted}
    for ref in [*(pin.ref for pin in choice.pins), *_inherited(context)]:
        if ref.kind is kind and ref not in refs:
            choice = unpinned(choice, context, ref)
    for mount in wanted:
        choice = pinned(choice, context, mount)
    return choice


def has(choice: Choice, context: Context, ref: MountRef) -> bool:
    """Whether a session has, or has done without, such a mount."""
    return choice.has_pinned(ref) or ref in choice.removed or ref in _inherited(context)


def _inherited(context: Context) -> Collection[MountRef]:
    return {each.ref: None for each in context.mounts}
