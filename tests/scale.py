"""How much work a test does: little on every change, a lot in a soak."""

import os

SOAKING = os.environ.get("TURNKEEPER_SOAK") == "1"


def rounds(quick: int, soak: int) -> int:
    return soak if SOAKING else quick
