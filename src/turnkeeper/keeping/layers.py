"""Tenants, projects and objectives, and the users of a tenant: making them, looking at them, changing them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from turnkeeper.errors import (
    EnvelopeInvalid,
    LayerExists,
    LayerNotActive,
    LayerNotFound,
    MountNotFound,
    NotAllowed,
    RevisionMoved,
    UserNotFound,
)
from turnkeeper.keeping.continuing import checked_idle
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.budget import Resource
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import LayerId, TenantId, UserId, is_id
from turnkeeper.model.layer import Layer, LayerStatus, LayerTerms, Quota
from turnkeeper.model.mount import MountKind, MountRef
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.principal import LOCAL, Principal, Role
from turnkeeper.model.scope import Level
from turnkeeper.model.user import User, UserStatus
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.layers import LayerStore
from turnkeeper.ports.users import UserStore
from turnkeeper.scope.directory import Directory
from turnkeeper.scope.effective import LiveScopes
from turnkeeper.steps.materialize import TIMEOUT_SECONDS
from turnkeeper.steps.receive import json_size

MOST_NAME_CHARS = 200
MOST_PROMPT_CHARS = 20_000
MOST_LIST = 500
MOST_NUMBER = 10**15
MOST_TRIES = 8
LONGEST_RUN_SECONDS = 365 * 86_400
LIMITS = frozenset({"max_steps", TIMEOUT_SECONDS, *(name.value for name in Resource if name is not Resource.STEPS)})
"""What a limit may be called: those of the budget of a run, its steps and its seconds."""

AuditOf = Callable[..., AuditFacts]
D = TypeVar("D")
_PLACE = re.compile(r"`\$\.(\w+)")
_HASH = re.compile(r"[0-9a-f]{64}")
_PREFIX = {Level.PROJECT: "proj", Level.OBJECTIVE: "obj"}


class Layers:
    """The layers of one level. Everyone in a tenant reads them; its owner and admins change them."""

    def __init__(
        self,
        level: Level,
        store: LayerStore,
        scopes: LiveScopes,
        directory: Directory,
        clock: Clock,
        *,
        audit: AuditOf,
    ) -> None:
        self._level, self._store, self._scopes, self._directory, self._clock = level, store, scopes, directory, clock
        self._audit = audit

    async def create(
        self,
        name: str,
        *,
        id: str | None = None,
        project_id: str | None = None,
        terms: LayerTerms = LayerTerms(),  # noqa: B008
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Layer:
        """A tenant is made by an operator and needs an id. Raises LayerExists, NotAllowed or EnvelopeInvalid."""
        self._check_may_create(principal)
        id, terms = self._new_id(id), well_typed(terms, LayerTerms)
        tenant = TenantId(id) if self._level is Level.TENANT else principal.tenant
        await self._check(name, terms, tenant, before=None)
        if self._level is Level.OBJECTIVE:
            if project_id is None:
                raise EnvelopeInvalid.at("/project_id", "must name the project of this objective")
            await self._check_project(tenant, project_id)
        now = self._clock.now()
        layer = Layer(
            tenant=tenant,
            level=self._level,
            id=LayerId(id),
            project_id=LayerId(project_id) if project_id and self._level is Level.OBJECTIVE else None,
            name=name,
            terms=terms,
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )
        await self._store.create(layer, self._audit_of(Command.CREATE_LAYER, layer, principal, trace_id))
        self._directory.forget(tenant)
        return layer

    async def get(self, id: str, *, principal: Principal = LOCAL) -> Layer:
        """Raises LayerNotFound. A tenant of which nobody has said anything yet is at revision 0."""
        if not is_id(id) or (self._level is Level.TENANT and id != principal.tenant and not principal.is_operator):
            raise LayerNotFound(self._level, id)
        tenant = TenantId(id) if self._level is Level.TENANT else principal.tenant
        try:
            return await self._store.get(tenant, self._level, LayerId(id))
        except LayerNotFound:
            if self._level is not Level.TENANT or id != principal.tenant:
                raise
        return self._unsaid(principal)

    async def list(
        self,
        *,
        project_id: str | None = None,
        principal: Principal = LOCAL,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Sequence[Layer]:
        """Newest first; tenants by their ids, and for an operator only."""
        if self._level is Level.TENANT:
            if not principal.is_operator:
                raise NotAllowed("Only an operator sees all tenants. Ask for your own.")
            return await self._store.tenants(after=None if cursor is None else TenantId(cursor), limit=limit)
        return await self._store.list(
            principal.tenant,
            self._level,
            project_id=None if project_id is None else LayerId(project_id),
            before=None if cursor is None else LayerId(cursor),
            limit=limit,
        )

    async def change(
        self,
        id: str,
        *,
        name: str | None = None,
        status: LayerStatus | str | None = None,
        terms: LayerTerms | Callable[[LayerTerms], LayerTerms] | None = None,
        expected_revision: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> Layer:
        """What sessions inherited stays; what is excluded is gone at once. Raises LayerNotFound or RevisionMoved.

        `terms` may be made out of those that there are. Then of several who change a layer at once all are heard.
        """
        asked: dict[str, Any] = {
            "name": name,
            "status": status,
            "terms": terms,
            "principal": principal,
            "trace_id": trace_id,
        }
        for _ in range(MOST_TRIES):
            try:
                return await self._change(id, expected_revision=expected_revision, **asked)
            except (RevisionMoved, LayerExists):
                if expected_revision is not None:
                    raise
        return await self._change(id, expected_revision=expected_revision, **asked)

    # --- inside

    async def _change(
        self,
        id: str,
        *,
        name: str | None,
        status: LayerStatus | str | None,
        terms: LayerTerms | Callable[[LayerTerms], LayerTerms] | None,
        expected_revision: int | None,
        principal: Principal,
        trace_id: str | None,
    ) -> Layer:
        before = await self.get(id, principal=principal)
        terms = terms(before.terms) if callable(terms) else terms
        terms = None if terms is None else well_typed(terms, LayerTerms)
        self._check_may_change(principal, before, status, terms)
        changed = replace(
            before,
            name=before.name if name is None else name,
            status=before.status if status is None else LayerStatus(status),
            terms=before.terms if terms is None else terms,
            updated_at=self._clock.now(),
        )
        await self._check(changed.name, changed.terms, changed.tenant, before=before)
        audit = self._audit_of(Command.CHANGE_LAYER, changed, principal, trace_id)
        if before.revision == 0:
            changed = replace(changed, revision=1, created_at=changed.updated_at)
            await self._store.create(changed, audit)
        else:
            expected = before.revision if expected_revision is None else expected_revision
            changed = await self._store.change(changed, audit, expected_revision=expected)
        self._directory.forget(changed.tenant)
        return changed

    def _unsaid(self, principal: Principal) -> Layer:
        now = self._clock.now()
        return Layer(
            tenant=principal.tenant,
            level=Level.TENANT,
            id=LayerId(principal.tenant),
            name=principal.tenant,
            revision=0,
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )

    def _new_id(self, id: str | None) -> str:
        if id is None and self._level is Level.TENANT:
            raise EnvelopeInvalid.at("/id", "must be the id of the new tenant, as its tokens name it")
        id = id or self._clock.new_id(_PREFIX[self._level])
        if not is_id(id):
            raise EnvelopeInvalid.at("/id", "must be 1 to 128 letters, digits or any of _ . : @ -")
        return id

    def _check_may_create(self, principal: Principal) -> None:
        if self._level is Level.TENANT and not principal.is_operator:
            raise NotAllowed("Only an operator makes tenants. Ask the one who runs this server.")
        if self._level is not Level.TENANT:
            self._check_manages(principal)

    def _check_manages(self, principal: Principal) -> None:
        if not principal.sees_whole_tenant:
            raise NotAllowed(f"Only owner and admin of a tenant change a {self._level}. Ask one of them.")

    def _check_may_change(
        self, principal: Principal, before: Layer, status: LayerStatus | str | None, terms: LayerTerms | None
    ) -> None:
        if principal.is_operator:
            return
        self._check_manages(principal)
        quotas = before.terms.quotas if terms is None else terms.quotas
        if self._level is Level.TENANT and (status not in (None, before.status) or quotas != before.terms.quotas):
            raise NotAllowed("Only an operator changes the quotas and the status of a tenant.")

    async def _check_project(self, tenant: TenantId, project_id: str) -> None:
        project = await self._store.get(tenant, Level.PROJECT, LayerId(project_id))
        if project.status is not LayerStatus.ACTIVE:
            raise LayerNotActive(project.level, project.id, project.status)

    async def _check(self, name: str, terms: LayerTerms, tenant: TenantId, *, before: Layer | None) -> None:
        check_name(name)
        check_terms(terms, self._level)
        # What is mounted below anew must be there now; what is excluded need not be there yet.
        known = {default.ref for default in before.terms.mounts} if before else set()
        for default in terms.mounts:
            if default.ref not in known and await self._scopes.stand(tenant, default.ref) is None:
                raise MountNotFound(default.kind, default.id)

    def _audit_of(self, command: Command, layer: Layer, principal: Principal, trace_id: str | None) -> AuditFacts:
        facts = {"level": layer.level.value, "layer": layer.id, "status": layer.status.value}
        return self._audit(command, principal, trace_id, **facts)


class Users:
    """The users of a tenant: its owners make them, owners and admins change them, and nobody gives or takes a role
    above their own."""

    def __init__(self, store: UserStore, directory: Directory, clock: Clock, *, audit: AuditOf) -> None:
        self._store, self._directory, self._clock, self._audit = store, directory, clock, audit

    async def create(
        self,
        id: str,
        *,
        role: Role | str = Role.MEMBER,
        name: str | None = None,
        tenant: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> User:
        """`tenant` is for an operator, who may give a tenant its first owner. Raises UserExists or NotAllowed."""
        of = self._tenant(tenant, principal)
        self._check_may_create(principal, id, Role(role))
        if not is_id(id):
            raise EnvelopeInvalid.at("/id", "must be 1 to 128 letters, digits or any of _ . : @ -")
        if name is not None:
            check_name(name)
        now = self._clock.now()
        user = User(
            tenant=of,
            id=UserId(id),
            name=name,
            role=Role(role),
            created_by=principal.user,
            created_at=now,
            updated_at=now,
        )
        await self._store.create(user, self._audit_of(Command.CREATE_USER, user, principal, trace_id))
        self._directory.forget(of)
        return user

    async def get(self, id: str, *, tenant: str | None = None, principal: Principal = LOCAL) -> User:
        """Oneself, or for owner and admin anyone of the tenant. Raises UserNotFound."""
        of = self._tenant(tenant, principal)
        may_see = principal.sees_whole_tenant or principal.is_operator or id == principal.user
        found = await self._store.find(of, UserId(id)) if is_id(id) and may_see else None
        if found is None:
            raise UserNotFound(id)
        return found

    async def list(
        self, *, tenant: str | None = None, principal: Principal = LOCAL, cursor: str | None = None, limit: int = 50
    ) -> Sequence[User]:
        """By their ids."""
        of = self._tenant(tenant, principal)
        self._check_manages(principal)
        return await self._store.list(of, after=None if cursor is None else UserId(cursor), limit=limit)

    async def change(
        self,
        id: str,
        *,
        name: str | None = None,
        role: Role | str | None = None,
        status: UserStatus | str | None = None,
        tenant: str | None = None,
        expected_version: int | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> User:
        """Seen at once here, and within a second elsewhere. Raises UserNotFound, RevisionMoved or LastOwner."""
        self._check_manages(principal)
        before = await self.get(id, tenant=tenant, principal=principal)
        if name is not None:
            check_name(name)
        changed = replace(
            before,
            name=before.name if name is None else name,
            role=before.role if role is None else Role(role),
            status=before.status if status is None else UserStatus(status),
            updated_at=self._clock.now(),
        )
        self._check_rank(principal, before.role)
        self._check_rank(principal, changed.role)
        audit = self._audit_of(Command.CHANGE_USER, changed, principal, trace_id)
        expected = before.version if expected_version is None else expected_version
        kept = await self._store.change(changed, audit, expected_version=expected)
        self._directory.forget(kept.tenant)
        return kept

    def _tenant(self, tenant: str | None, principal: Principal) -> TenantId:
        if tenant is None or tenant == principal.tenant:
            return principal.tenant
        if not principal.is_operator:
            raise LayerNotFound(Level.TENANT, tenant)
        return TenantId(tenant)

    def _check_manages(self, principal: Principal) -> None:
        if not principal.sees_whole_tenant and not principal.is_operator:
            raise NotAllowed("Only owner and admin of a tenant manage its users. Ask one of them.")

    def _check_may_create(self, principal: Principal, id: str, role: Role) -> None:
        """What is said here counts more than what a token says, and who holds a token as owner is not known here."""
        if principal.is_operator:
            return
        if principal.role is not Role.OWNER:
            raise NotAllowed("Only an owner of a tenant says first which role a user has. Ask one of them.")
        if id in (principal.user, principal.holder) and role is not principal.role:
            raise NotAllowed(f"Nobody takes their own role away. Say {principal.role}, or ask another owner.")

    def _check_rank(self, principal: Principal, role: Role) -> None:
        if role.rank > principal.role.rank and not principal.is_operator:
            raise NotAllowed(f"Who is {principal.role} gives and takes no role above that. Ask an owner.")

    def _audit_of(self, command: Command, user: User, principal: Principal, trace_id: str | None) -> AuditFacts:
        facts = {"managed": user.id, "role_given": user.role.value, "status": user.status.value}
        return self._audit(command, principal, trace_id, of_tenant=user.tenant, **facts)


def check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_NAME_CHARS or not is_plain_text(name):
        raise EnvelopeInvalid.at("/name", f"must be text of 1 to {MOST_NAME_CHARS} characters")


def check_terms(terms: LayerTerms, level: Level) -> None:
    """Raises EnvelopeInvalid for what cannot be meant."""
    if len(terms.mounts) > MOST_LIST or len(terms.excluded) > MOST_LIST:
        raise EnvelopeInvalid.at("/mounts", f"a layer names at most {MOST_LIST} mounts and {MOST_LIST} exclusions")
    for ref in (*(default.ref for default in terms.mounts), *terms.excluded):
        check_ref(ref)
    if level is not Level.TENANT and (terms.quotas or terms.allowed_models is not None):
        raise EnvelopeInvalid.at("/quotas", "only a tenant has quotas and allowed_models")
    unknown = set(terms.quotas) - set(Quota)
    if unknown or not all(0 <= most <= MOST_NUMBER for most in terms.quotas.values()):
        raise EnvelopeInvalid.at("/quotas", f"must be whole numbers by the names {', '.join(Quota)}")
    check_limits(terms.limits)
    if terms.prompt is not None and (len(terms.prompt) > MOST_PROMPT_CHARS or not is_plain_text(terms.prompt)):
        raise EnvelopeInvalid.at("/prompt", f"must be text of at most {MOST_PROMPT_CHARS} characters")
    if terms.idle_for_seconds is not None:
        checked_idle(terms.idle_for_seconds)


def check_limits(limits: Mapping[str, float]) -> None:
    if set(limits) - LIMITS or not all(0 <= most <= MOST_NUMBER for most in limits.values()):
        raise EnvelopeInvalid.at("/limits", f"must be numbers by the names {', '.join(sorted(LIMITS))}")
    if limits.get(TIMEOUT_SECONDS, 0) > LONGEST_RUN_SECONDS:
        raise EnvelopeInvalid.at(
            f"/limits/{TIMEOUT_SECONDS}", f"must be at most {LONGEST_RUN_SECONDS}, which is a year"
        )


def well_typed(given: D, kind: type[D]) -> D:
    """As it is read back once it is kept. Raises EnvelopeInvalid for what has other types, or is no JSON."""
    try:
        plain = msgspec.to_builtins(given)
        kept = msgspec.convert(plain, kind)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        where = _PLACE.search(str(error))
        raise EnvelopeInvalid.at(f"/{where[1]}" if where else "", f"must have the right type: {error}") from None
    if json_size(plain) is None:
        raise EnvelopeInvalid.at("", "must be JSON: numbers are finite, and text is Unicode")
    return kept


def check_ref(ref: MountRef) -> None:
    """Raises EnvelopeInvalid when nothing could have such a name."""
    if ref.kind is MountKind.PACK:
        raise EnvelopeInvalid.at("/mounts", "what comes with a pack is not mounted by itself")
    if ref.kind is MountKind.ARTIFACT and not _HASH.fullmatch(ref.id):
        raise EnvelopeInvalid.at("/mounts", "an artifact is named by its SHA-256, 64 digits and letters a to f")
    if not is_id(ref.id):
        raise EnvelopeInvalid.at("/mounts", "must name a resource by its id")
