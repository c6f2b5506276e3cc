"""Agents that want to hear what becomes of what a session knows."""

from typing import Protocol, runtime_checkable

from turnkeeper.ports.plugins import KnowledgeEvent


@runtime_checkable
class Listening(Protocol):
    async def heard(self, event: KnowledgeEvent) -> object:
        """Told after the fact: whatever it does or fails to do changes nothing about it."""
