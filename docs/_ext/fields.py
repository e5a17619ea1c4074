"""What each field of a small class is, from the comments beside it.

Named tuples, data classes and enumerations say it there, where neither Sphinx nor the reader of a
page would see it.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

SEVERAL = re.compile(r":ivar ((?:\w+, )+\w+):")  # Sphinx takes all names but the last for a type


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", complete, priority=900)  # after napoleon
    return {"parallel_read_safe": True}


def complete(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Add the fields, unless the docstring has them; keep names that share a line together."""
    lines[:] = [
        SEVERAL.sub(lambda found: f":ivar {found[1].replace(' ', '')}:", line) for line in lines
    ]
    described = any(line.startswith(":ivar") for line in lines)
    if what in ("class", "exception") and has_fields(thing) and not described:
        lines.append("")
        for field, words in fields(thing).items():
            lines.append(f"* **{field}**" + (f": {words}" if words else ""))
        lines.append("")


def has_fields(thing: type) -> bool:
    """Whether a class is a named tuple, a data class or an enumeration."""
    return hasattr(thing, "_fields") or is_dataclass(thing) or issubclass(thing, Enum)


def fields(thing: type) -> dict[str, str]:
    """Public fields and the comments after them, or else on the lines before."""
    source = inspect.cleandoc("\n" + inspect.getsource(thing))
    lines = source.splitlines()
    found = {}
    for statement in ast.parse(source).body[0].body:
        if isinstance(statement, ast.AnnAssign):
            target = statement.target
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
        else:
            continue
        if isinstance(target, ast.Name) and not target.id.startswith("_"):
            end = lines[statement.end_lineno - 1][statement.end_col_offset :]
            words = [end.partition("#")[2]] if "#" in end else above(lines, statement.lineno - 1)
            found[target.id] = " ".join(" ".join(words).split()).replace("`", "``")
    return found


def above(lines: list[str], at: int) -> list[str]:
    """The comment that stands right above a line."""
    first = at
    while lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return [line.partition("#")[2] for line in lines[first:at]]
