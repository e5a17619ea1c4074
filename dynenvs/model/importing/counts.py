"""Counts in MJCF that no scene has: MuJoCo takes them at their word, and never comes to an end.

What is asked for by many parts is another matter (SECURITY.md).
"""

from __future__ import annotations

import math
import re
from pathlib import Path

MOST_COPIES = 20_000  # of anything that one number asks for
# Attributes that say how many; of <numeric>, "size" does
COUNTS = re.compile(
    r"""\b(count|nrow|ncol|width|height|dim|num|nsample|nkey|nuserdata|nuser_\w+)"""
    r"""\s*=\s*(?:"([^"<]*)"|'([^'<]*)')"""
)
NUMERIC = re.compile(r"""<numeric\b[^<>]*\b(size)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
INCLUDE = re.compile(r"""<include\b[^<>]*\bfile\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
MODEL = re.compile(r"""<model\b[^<>]*\bfile\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")


def refuse_absurd_counts(text: str, folder: Path) -> None:
    """Look at a file's counts, and at those of the files that it includes.

    Args:
        text: the XML.
        folder: where the included files are.

    Raises:
        ValueError: a number that asks for too much, or a file that attaches itself; one line that
            tells it.
    """
    _refuse_circles(text, folder, (text,))
    waiting, seen = [text], set[Path]()
    while waiting:
        content = waiting.pop()
        for found in (*COUNTS.finditer(content), *NUMERIC.finditer(content)):
            given = found[2] or found[3] or ""
            if _product(given) > MOST_COPIES:
                raise ValueError(f'{found[1]}="{given:.40}" is more than {MOST_COPIES}')
        for found in INCLUDE.finditer(content):
            file = folder / (found[1] or found[2] or "")
            if file not in seen and file.is_file():
                seen.add(file)
                waiting.append(file.read_text(encoding="utf-8", errors="replace"))


def _refuse_circles(text: str, folder: Path, within: tuple[str, ...]) -> None:
    """Make sure that no file attaches, as a model, one that it is within: MuJoCo would crash.

    Raises:
        ValueError: one does.
    """
    for found in MODEL.finditer(text):
        file = folder / (found[1] or found[2] or "")
        if file.is_file():
            content = file.read_text(encoding="utf-8", errors="replace")
            if content in within:
                raise ValueError(f"the file attaches itself, by way of the model {file.name}")
            _refuse_circles(content, folder, (*within, content))


def _product(given: str) -> float:
    """Of the numbers in a text; 0 if it holds anything else, which MuJoCo refuses by itself."""
    try:
        return math.prod(abs(float(word)) for word in given.split())
    except ValueError:
        return 0.0
