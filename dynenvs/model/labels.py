"""What geoms are called in messages."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"geom \d+'*")  # of a file's geoms that have no name (`importing/`)


def geom_label(name: str, body: str) -> str:
    """The name of a geom; with its body's if the file gave it none, and it is called by number."""
    return f"{name} of {body}" if _NUMBERED.fullmatch(name) else name
