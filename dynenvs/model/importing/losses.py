"""What of a file a model cannot hold: collected while it is read, reported once, by name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from dynenvs.model.parts import ModelError

NAMES_LISTED = 3
NOT_THE_CALLERS = ("dynenvs", "gymnasium")  # packages whose lines a warning does not point at


class NotCarriedOver(UserWarning):
    """Something of a loaded file has no counterpart in the model; the text says what it changes."""


class Losses:
    """A list of what is left out, and what that changes."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, what: str, names: Sequence[str], change: str) -> None:
        """Note that `what` of these parts is left out; nothing is noted where there are none.

        Args:
            what: for example "margins of geoms".
            names: of the parts that it concerns.
            change: what is different in the model for it.
        """
        if names:
            self._lines.append(f"{what} ({listed(names)}): {change}")

    def tell(self, label: str, strict: bool) -> None:
        """Say all of it in one warning.

        Args:
            label: of the file.
            strict: make it an error.

        Raises:
            ModelError: something is left out, and `strict` is set.
        """
        if not self._lines:
            return
        text = f"{label}: not carried over: " + "; ".join(self._lines)
        if strict:
            raise ModelError(text)
        warnings.warn(text, NotCarriedOver, stacklevel=callers_level())


def callers_level() -> int:
    """The `stacklevel` with which a warning points at the line of the user that led here."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in NOT_THE_CALLERS:
        level, frame = level + 1, frame.f_back
    return level


def listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    listed = ", ".join(names[:NAMES_LISTED])
    rest = len(names) - NAMES_LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed
