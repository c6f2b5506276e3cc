"""The terminal: turnkeeper serve | chat | audit verify | version."""
