"""Who keeps the session's state."""
