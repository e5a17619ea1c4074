"""How errors tell what was given: in short, and what may have been meant by a misspelt word."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error: "; did you mean 'humanoid'?", or nothing if no known word is like it."""
    like = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.7)
    return f"; did you mean {like[0]!r}?" if like else ""


def shortly(value: Any) -> str:
    """A value as a message shows it, in one line; of lists in lists, which may be deep, a part."""
    text = reprlib.repr(value) if isinstance(value, list | tuple | dict | set) else repr(value)
    text = " ".join(text.split())  # arrays have a line each row
    return text if len(text) <= 100 else f"{text[:97]}..."
