"""Any order of pin, unpin, declare, exclude, delete and rebase, on real stores, beside plain sets."""

import random

import pytest

from tests.scale import rounds
from turnkeeper import Turnkeeper
from turnkeeper.errors import MountExcluded, MountNotFound
from turnkeeper.keeping.scoping import Pin
from turnkeeper.model.layer import DefaultMount, LayerTerms
from turnkeeper.model.mount import MountKind, MountRef

LAYERS = ("tenant", "project", "objective")


class Beside:
    """What the formula says, kept as sets."""

    def __init__(self) -> None:
        self.declared: dict[str, set[str]] = {name: set() for name in LAYERS}
        self.excluded: dict[str, set[str]] = {name: set() for name in LAYERS}
        self.inherited: set[str] = set()
        self.removed: set[str] = set()
        self.pins: set[str] = set()
        self.gone: set[str] = set()

    @property
    def hard(self) -> set[str]:
        return set().union(*self.excluded.values())

    @property
    def effective(self) -> set[str]:
        return ((self.inherited - self.removed) | self.pins) - self.hard - self.gone

    def rebase(self) -> None:
        self.inherited = set().union(*self.declared.values()) - self.hard

    def may_pin(self, id: str) -> bool:
        return id not in self.hard and id not in self.gone

    def pin(self, id: str) -> None:
        self.removed.discard(id)
        if id not in self.inherited:
            self.pins.add(id)

    def may_unpin(self, id: str) -> bool:
        return id in self.pins | self.inherited | self.removed

    def unpin(self, id: str) -> None:
        self.pins.discard(id)
        if id in self.inherited:
            self.removed.add(id)


@pytest.mark.parametrize("seed", range(rounds(quick=2, soak=40)))
async def test_any_order_of_changes_gives_the_effective_set_of_the_formula(keeper: Turnkeeper, seed: int) -> None:
    chance, beside = random.Random(seed), Beside()
    ids = [(await keeper.pointers.create(f"p{number}")).id for number in range(5)]
    project = await keeper.projects.create("Harbour")
    aim = await keeper.objectives.create("Find", project_id=project.id)
    await keeper.tenants.change("default", terms=LayerTerms())
    places = {"tenant": (keeper.tenants, "default"), "project": (keeper.projects, project.id)}
    places["objective"] = (keeper.objectives, aim.id)
    session = await keeper.create_session(project_id=project.id, objective_id=aim.id)

    for _ in range(30):
        what, id = chance.choice(("pin", "unpin", "layer", "delete", "rebase")), chance.choice(ids)
        if what == "pin":
            try:
                await keeper.scoping.pin(session.id, Pin(kind=MountKind.POINTER, id=id))
            except (MountExcluded, MountNotFound):
                assert not beside.may_pin(id)
            else:
                beside.pin(id)
        elif what == "unpin":
            try:
                await keeper.scoping.unpin(session.id, MountRef(kind=MountKind.POINTER, id=id))
            except MountNotFound:
                assert not beside.may_unpin(id)
            else:
                beside.unpin(id)
        elif what == "layer":
            level, living = chance.choice(LAYERS), sorted(set(ids) - beside.gone)
            declared, excluded = (chance.sample(living, min(2, len(living))), chance.sample(ids, 1))
            terms = LayerTerms(
                mounts=tuple(DefaultMount(kind=MountKind.POINTER, id=each) for each in declared),
                excluded=tuple(MountRef(kind=MountKind.POINTER, id=each) for each in excluded),
            )
            layers, layer_id = places[level]
            await layers.change(layer_id, terms=terms)
            beside.declared[level], beside.excluded[level] = set(declared), set(excluded)
        elif what == "delete" and len(beside.gone) < 2 and id not in beside.gone:
            await keeper.pointers.delete(id)
            beside.gone.add(id)
        elif what == "rebase":
            await keeper.rebase_session(session.id)
            beside.rebase()

        scope = await keeper.scoping.scope(await keeper.session(session.id))
        assert {each.mount.id for each in scope.mounts} == beside.effective, what
