"""Seeing at once that a function of somebody else's can be awaited, rather than in the first round that needs it."""

import functools
import inspect
from typing import Any


def require_async(function: Any, what: str) -> None:
    """Raises ValueError, with what to write instead, for a function that is not async. `what` is it for a reader."""
    if not callable(function):
        raise ValueError(f"{what} is no function, but {type(function).__name__}")
    if not _is_async(function):
        name = getattr(function, "__name__", type(function).__name__)
        if name == "<lambda>":
            name = "name"
        raise ValueError(f"{what} is awaited, and has to be an async function: write `async def {name}(...)`")


def _is_async(function: Any) -> bool:
    """Also for what is wrapped: a decorator that keeps `__wrapped__`, a partial, an object that can be called."""
    while True:
        if inspect.iscoroutinefunction(function):
            return True
        inner = function.func if isinstance(function, functools.partial) else getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return inspect.iscoroutinefunction(type(function).__call__)
