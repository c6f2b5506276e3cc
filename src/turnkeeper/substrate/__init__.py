"""Content that is kept by its hash."""
