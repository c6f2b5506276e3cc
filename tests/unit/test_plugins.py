"""Plugins are described, registered, chosen and found; nothing of that needs a turn."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from tests.symbolic import Detector, Judge, Solver, answer, descriptor
from turnkeeper.agents.symbolic.builtin import gather_plugins
from turnkeeper.agents.symbolic.choice import Choice
from turnkeeper.agents.symbolic.registry import PluginRegistry
from turnkeeper.knowledge.extraction import RuleExtractor
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.ports.plugins import Detection, Judgement, PluginDescriptor, PluginKind, Retrieval, RetrievalStatus

NOTHING_FOUND = Retrieval(status=RetrievalStatus.INSUFFICIENT)


def a_solver(id: str) -> Solver:
    return Solver(id, answer("Yes."))


def a_choice(registry: PluginRegistry, *, pinned: str | None = None, preferred: str | None = None) -> Choice:
    kind = PluginKind.GOAL_SOLVER
    return Choice(
        registry=registry,
        pinned={kind: pinned} if pinned else {},
        preferred={kind: preferred} if preferred else {},
        limit=4,
    )


def solvers(*ids: str) -> PluginRegistry:
    registry = PluginRegistry()
    for id in ids:
        registry.add(a_solver(id))
    return registry


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"id": "No Spaces"}, "plugin id"),
        ({"kind": ""}, "needs a kind"),
        ({"name": ""}, "needs a kind, a name"),
        ({"uses_model": True}, "exactly when"),
        ({"most_model_calls": 1}, "exactly when"),
        ({"most_model_calls": -1}, "exactly when"),
    ],
)
def test_a_descriptor_cannot_be_wrong(wrong: dict[str, object], words: str) -> None:
    right: dict[str, object] = {"id": "sd-mine", "kind": PluginKind.SEED_DETECTOR, "name": "Mine"}

    with pytest.raises(ValueError, match=words):
        PluginDescriptor(**(right | wrong))  # type: ignore[arg-type]


def test_fact_26_a_plugin_of_an_unknown_kind_is_refused_and_the_known_ones_are_named() -> None:
    judge = Judge("val-mine", Judgement(accepted=True))

    with pytest.raises(ValueError, match="unknown kind 'val-plugin'; known are mrp-plan-plugin, sd-plugin, kb-plugin"):
        PluginRegistry().add(judge)


def test_a_fifth_kind_is_declared_before_its_first_plugin() -> None:
    registry = PluginRegistry()

    registry.declare("val-plugin")
    registry.declare("val-plugin")
    registry.add(Judge("val-mine", Judgement(accepted=True)))

    assert registry.ids("val-plugin") == ("val-mine",)
    assert registry.kinds[-1] == "val-plugin"


def test_a_plugin_without_a_descriptor_or_without_its_work_is_refused() -> None:
    class Idle:
        descriptor = descriptor("gs-idle", PluginKind.GOAL_SOLVER)

    class Nobody:
        descriptor = "gs-nobody"

    with pytest.raises(ValueError, match="'gs-idle' is of kind 'gs-plugin' and cannot solve"):
        PluginRegistry().add(Idle())
    with pytest.raises(ValueError, match="no descriptor"):
        PluginRegistry().add(Nobody())  # type: ignore[arg-type]


def test_an_id_is_taken_once_across_all_kinds() -> None:
    registry = solvers("mine")

    with pytest.raises(ValueError, match="already registered"):
        registry.add(Detector("mine", Detection()))


def test_what_was_chosen_explicitly_is_tried_alone() -> None:
    choice = a_choice(solvers("gs-a", "gs-b", "gs-c"), pinned="gs-b", preferred="gs-a")

    assert choice.order(PluginKind.GOAL_SOLVER, ["gs-c", "gs-a", "gs-b"]) == ("gs-b",)


def test_what_the_session_prefers_comes_first_and_the_others_follow_as_ranked() -> None:
    choice = a_choice(solvers("gs-a", "gs-b", "gs-c"), preferred="gs-b")

    assert choice.order(PluginKind.GOAL_SOLVER, ["gs-c", "gs-a", "gs-b"]) == ("gs-b", "gs-c", "gs-a")


def test_a_ranking_may_name_only_what_is_registered() -> None:
    choice = a_choice(solvers("gs-a", "gs-b"))

    assert choice.order(PluginKind.GOAL_SOLVER, ["gs-gone", "gs-b", "gs-b", "gs-a"]) == ("gs-b", "gs-a")


def test_at_most_four_plugins_are_tried_in_a_stage() -> None:
    choice = a_choice(solvers("gs-a", "gs-b", "gs-c", "gs-d", "gs-e"))

    assert choice.order(PluginKind.GOAL_SOLVER) == ("gs-a", "gs-b", "gs-c", "gs-d")


def test_calls_are_reserved_taken_one_by_one_and_what_is_left_is_released() -> None:
    budget = Budget(BudgetLimits(model_calls=3))

    with budget.reserve(2) as reservation:
        assert reservation is not None
        assert reservation.take()
        held = (budget.model_calls, budget.reserved, budget.remaining)

    assert held == (1, 1, 1)
    assert (budget.model_calls, budget.reserved, budget.remaining) == (1, 0, 2)


def test_a_reservation_gives_no_more_than_was_reserved() -> None:
    budget = Budget(BudgetLimits(model_calls=5))

    with budget.reserve(1) as reservation:
        assert reservation is not None
        taken = [reservation.take(), reservation.take()]

    assert taken == [True, False]
    assert budget.model_calls == 1


def test_two_at_once_cannot_reserve_more_than_there_is() -> None:
    budget = Budget(BudgetLimits(model_calls=3))

    with budget.reserve(2) as first, budget.reserve(2) as second:
        assert first is not None
        assert second is None

    assert budget.remaining == 3


def test_without_a_model_only_plugins_that_need_none_are_built_in() -> None:
    registry = gather_plugins(RuleExtractor())

    assert [registry.ids(kind) for kind in registry.kinds] == [
        ("planner-default",),
        ("sd-symbolic",),
        ("kb-fast",),
        ("gs-symbolic",),
        (),
    ]


def test_an_installed_distribution_adds_its_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_distribution(
        tmp_path,
        "acme-judge",
        "def add(plugins):\n"
        "    plugins.declare('acme-plugin')\n"
        "    plugins.add(Judge())\n"
        "from turnkeeper.ports.plugins import Judgement, PluginDescriptor\n"
        "class Judge:\n"
        "    descriptor = PluginDescriptor(id='val-acme', kind='val-plugin', name='Acme')\n"
        "    async def judge(self, task, solution, call):\n"
        "        return Judgement(accepted=True)\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    registry = gather_plugins(RuleExtractor())

    assert registry.ids(PluginKind.VALIDATOR) == ("val-acme",)
    assert "acme-plugin" in registry.kinds


@pytest.mark.parametrize(
    "code",
    [
        "raise ImportError('no such library')",
        "def add(plugins):\n    raise RuntimeError('not today')",
        "add = 3",
        "nothing = None",
    ],
)
def test_a_broken_distribution_is_named_in_a_warning_and_the_others_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: str
) -> None:
    a_distribution(tmp_path, "broken-plugins", code)
    a_distribution(tmp_path, "sound-plugins", "def add(plugins):\n    plugins.declare('sound-plugin')\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with caplog.at_level(logging.WARNING):
        registry = gather_plugins(RuleExtractor())

    assert "sound-plugin" in registry.kinds
    assert registry.ids(PluginKind.GOAL_SOLVER) == ("gs-symbolic",)
    assert [record.getMessage() for record in caplog.records] == ["plugins of broken-plugins could not be loaded"]


async def test_plugins_are_gathered_when_the_agent_is_first_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_distribution(tmp_path, "late-plugins", "def add(plugins):\n    plugins.declare('late-plugin')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("late_plugins", None)

    from turnkeeper.agents.symbolic.agent import SymbolicAgent
    from turnkeeper.testing.clock import SteppedClock

    agent = SymbolicAgent(lambda: gather_plugins(RuleExtractor()), SteppedClock())
    loaded_before = "late_plugins" in sys.modules
    kinds = (await agent.plugins()).kinds

    assert not loaded_before
    assert "late-plugin" in kinds


def a_distribution(folder: Path, name: str, code: str) -> None:
    """What `pip install` leaves behind: a module, and the description of a distribution with its entry points."""
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    described = folder / f"{module}-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text(f"[turnkeeper.plugins]\n{name} = {module}:add\n", encoding="utf-8")
