"""Standard output and error that say what they can where not every character can be printed."""

from __future__ import annotations

import codecs
import sys
import unicodedata

# What the libraries print beside ASCII that does not fall apart into a letter and its accent
WORDS = {"±": "+/-", "→": "->", "×": "x", "·": "*", "…": "...", "–": "-", "—": "-", "’": "'"}
HANDLER = "dynenvs.jit.plain"


def print_anything() -> None:
    """Let standard output and error write near words for what their encoding does not have.

    In the C locale, or with PYTHONIOENCODING=ascii, a folder named "Läufe" or a progress bar would
    end the program otherwise.
    """
    codecs.register_error(HANDLER, _plain)
    for stream in (sys.stdout, sys.stderr):
        change = getattr(stream, "reconfigure", None)  # not every stand-in for a stream has it
        if change is not None and "utf" not in (stream.encoding or "").lower():
            change(errors=HANDLER)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """ASCII for characters that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(map(_word, found)), error.end


def _word(character: str) -> str:
    bare = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return WORDS.get(character) or bare or "?"
