"""What may be meant by a misspelt word, for the ends of errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error: "; did you mean 'humanoid'?", or nothing if no known word is like it."""
    like = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.7)
    return f"; did you mean {like[0]!r}?" if like else ""
