"""Turnkeeper keeps conversations."""
