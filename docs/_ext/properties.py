"""Docstrings of properties as they are written: "Positions, shape (nq,): ..." names no type.

napoleon takes what stands before the first colon of a property's docstring for its type.
"""

from __future__ import annotations

import inspect
from typing import Any

from sphinx.ext.napoleon import GoogleDocstring


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", restore, priority=900)  # after napoleon
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}


def skip(app: Any, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples: the signature has them, with their types."""
    return True if (inspect.getdoc(thing) or "").startswith("Alias for field number") else None


def restore(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Read a property's docstring again, as that of a method."""
    if what in ("attribute", "property") and isinstance(thing, property):
        text = inspect.getdoc(thing) or ""
        lines[:] = GoogleDocstring(text, app.config, app, "method", name, thing, options).lines()
        lines.append("")
