"""Agents that a command runs: `module:factory`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from agent_reach.errors import ReachError


def load_factory(name: str) -> Callable[..., Any]:
    """The function that `module:function` names; the working directory is looked in first.

    Raises:
        ReachError: there is no such module or function.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise ReachError(f"agent: expected module:factory, found {name!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ReachError(f"agent: {name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise ReachError(f"agent: expected a function that gives an agent, {name!r} is a {type(found).__name__}")
    made: Callable[..., Any] = found
    return made


def fresh(factory: Callable[..., Any], reach: Any) -> Any:
    """A fresh agent; a factory that has a parameter `reach` is given the one that watches."""
    return factory(reach=reach) if "reach" in inspect.signature(factory).parameters else factory()
