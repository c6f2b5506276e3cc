"""Conversations in a PostgreSQL server, for any number of nodes."""
