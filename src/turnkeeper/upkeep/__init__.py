"""What must be done even when nobody asks for it."""
