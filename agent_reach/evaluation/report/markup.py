"""HTML and SVG as nested calls; every text is escaped on its way in."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Final

_VOID: Final = frozenset(("meta", "line", "rect", "circle", "polyline", "polygon", "path"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element.

    Args:
        name: of the element.
        *children: markup as it is, other values escaped; None is left out, iterables are taken one by one.
        **attributes: escaped; `class_` is `class`, `stroke_width` is `stroke-width`, None is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items() if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after another."""
    return Markup("".join(map(_text, children)))


def _text(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int | float):
        return escape(str(child), quote=False)
    return join(child)
