"""Conversations in one SQLite file, for one machine."""
