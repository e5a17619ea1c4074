"""What of a file a model cannot hold: collected while it is read, reported once, by name."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from dynenvs.model.parts import ModelError

NAMES_LISTED = 3


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
        warnings.warn(text, NotCarriedOver, stacklevel=3)


def listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    listed = ", ".join(names[:NAMES_LISTED])
    rest = len(names) - NAMES_LISTED
    return f"{listed} and {rest} more" if rest > 0 else listed
