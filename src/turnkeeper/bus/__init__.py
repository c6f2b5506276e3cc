"""Sessions on a message bus: who says what to whom, and what travels with it."""
