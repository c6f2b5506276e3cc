"""Fakes and builders for tests of turnkeeper and of what is built on it."""
