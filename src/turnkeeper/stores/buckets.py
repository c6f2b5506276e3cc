"""What every database decides alike about the bucket of a tenant."""

from turnkeeper.model.policy import Rate


def drawn(tokens: float, filled_at: int, rate: Rate, *, wanted: int, now: int) -> tuple[float, float]:
    """How many tokens are taken, and how many stay; taken is below 0 by what is missing to a whole one."""
    there = filled(tokens, filled_at, rate, now=now)
    taken = min(wanted, int(there))
    return (float(taken), there - taken) if taken else (there - 1, there)


def filled(tokens: float, filled_at: int, rate: Rate, *, now: int) -> float:
    """How many tokens are there by now."""
    passed = max(0, now - filled_at) / 1_000_000
    return min(float(rate.burst), tokens + passed * rate.per_second)
