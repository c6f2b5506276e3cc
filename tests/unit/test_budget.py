"""What a run may spend, and that a part of it never spends more."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.model.budget import Budget, BudgetLimits, Overdrawn, Resource


def a_budget(**most: float) -> Budget:
    return Budget(BudgetLimits(model_calls=5), most)


def test_a_debit_that_would_cross_the_limit_spends_nothing() -> None:
    budget = a_budget(tokens=10)
    budget.debit("tokens", 7)

    with pytest.raises(Overdrawn) as caught:
        budget.debit("tokens", 4)

    assert (caught.value.left, caught.value.limit, budget.used) == (3, 10, {"tokens": 7})
    budget.debit("tokens", 3)
    assert budget.left("tokens") == 0


def test_what_has_no_limit_is_counted_all_the_same() -> None:
    budget = a_budget()

    budget.debit("tool_calls", 3)

    assert (budget.left("tool_calls"), budget.used["tool_calls"]) == (None, 3)


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf")])
def test_only_a_number_that_is_not_negative_can_be_spent(amount: float) -> None:
    with pytest.raises(ValueError, match="spent"):
        a_budget().debit("tokens", amount)


def test_what_there_is_not_cannot_be_spent() -> None:
    with pytest.raises(ValueError, match="patience"):
        a_budget().debit("patience")


def test_a_narrowed_budget_never_has_more_than_is_left_and_spends_from_both() -> None:
    whole = a_budget(tokens=100, tool_calls=2)
    whole.debit("tokens", 40)

    part = whole.narrowed(tokens=1_000, cost_cents=5, model_calls=99)
    part.debit("tokens", 50)

    assert part.most == {"tokens": 60, "tool_calls": 2, "cost_cents": 5}
    assert (part.limits.model_calls, whole.used["tokens"], whole.left("tokens")) == (5, 90, 10)
    with pytest.raises(Overdrawn):
        part.debit("tokens", 11)


def test_calls_that_a_part_reserves_are_reserved_in_the_whole() -> None:
    whole = a_budget()
    part = whole.narrowed(model_calls=2)

    with part.reserve(2) as held:
        assert held is not None
        assert held.take()
        assert whole.remaining == 3
        with whole.reserve(4) as too_many:
            assert too_many is None

    assert (part.remaining, whole.remaining) == (1, 4)


@given(
    limits=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    debits=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20))),
)
def test_whatever_is_debited_where_no_limit_is_ever_crossed(limits: list[int], debits: list[tuple[int, int]]) -> None:
    line = [a_budget(tokens=limits[0])]
    for limit in limits[1:]:
        line.append(line[-1].narrowed(tokens=limit))

    for place, amount in debits:
        try:
            line[place % len(line)].debit(Resource.TOKENS, amount)
        except Overdrawn:
            continue

    for budget in line:
        assert budget.used.get("tokens", 0) <= budget.most["tokens"]
    for whole, part in itertools.pairwise(line):
        assert part.used.get("tokens", 0) <= whole.used.get("tokens", 0)


def test_threads_that_spend_at_once_cannot_overdraw() -> None:
    budget = a_budget(tool_calls=500)
    part = budget.narrowed()

    with ThreadPoolExecutor(8) as pool:
        spent = sum(pool.map(lambda _: was_spent(part), range(1_000)))

    assert (spent, budget.used["tool_calls"]) == (500, 500)


def was_spent(budget: Budget) -> bool:
    try:
        budget.debit("tool_calls")
    except Overdrawn:
        return False
    return True
