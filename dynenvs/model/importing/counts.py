"""Counts in MJCF that no scene has: MuJoCo takes them at their word, and never comes to an end.

Files that attach themselves, or are nested without end, are as bad: MuJoCo's stack overflows.  What
is asked for by many parts is another matter (SECURITY.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple

from dynenvs.files import refuse_endless
from dynenvs.model.importing.impossible import refuse_many

MOST_COPIES = 20_000  # of anything that one number, or numbers within each other, ask for
MOST_CELLS = 100_000_000  # of a height field or a texture
MOST_FILES = 1000  # that one file includes or attaches, directly or not
MOST_NESTED = 100  # of them within each other
# Attributes that say how many; of <numeric>, "size" does
COUNTS = re.compile(r"count|nrow|ncol|width|height|dim|num|nsample|nkey|nuserdata|nuser_\w+")
# As MuJoCo's parser reads: ">" may stand in quotes, and nothing in a comment counts
TAG = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>]*>"""
    r"""|<(/?)([^\s<>/"'=!?]+)((?:[^<>"']|"[^"]*"|'[^']*')*+)>""",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"""([^\s<>/"'=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class _Tag(NamedTuple):
    """A tag of an element."""

    name: str
    closes: bool  # the element is over
    has_parts: bool  # it has begun, and is not over
    given: dict[str, str]


class _Within(NamedTuple):
    """A file on the way to the one that is looked at."""

    content: str
    is_model: bool  # attached, not included


def refuse_absurd_counts(text: str, folder: Path) -> None:
    """Look at a file's counts, and at those of the files that it includes or attaches.

    Args:
        text: the XML.
        folder: where the other files are.

    Raises:
        ValueError: a number that asks for too much, too many files or files that are nested too
            deeply, or a file that attaches itself; one line that tells it.
    """
    refuse_many(_look_at(text, folder, 1.0, [_Within(text, False)], set()), "bodies")


def _look_at(
    text: str, folder: Path, copies: float, way: list[_Within], seen: set[tuple[str, float]]
) -> float:
    """Look at a file of which there will be so many copies, and at those that it names.

    Returns how many bodies they have between them.
    """
    seen.add((text, copies))
    if len(seen) > MOST_FILES:
        raise ValueError(f"more than {MOST_FILES} files are included or attached")
    if len(way) > MOST_NESTED:
        raise ValueError(f"files are nested more than {MOST_NESTED} deep")
    outer, bodies = [copies], 0.0
    for tag in _tags(text):
        if tag.name == "replicate" and tag.closes and len(outer) > 1:
            outer.pop()
        _refuse_counts(tag, outer[-1])
        if tag.name == "body" and not tag.closes:
            bodies += outer[-1]
        if tag.name == "replicate" and tag.has_parts:
            outer.append(outer[-1] * max(_product(tag.given.get("count", "1")), 1.0))
        if tag.name in ("include", "model") and tag.given.get("file"):
            file = folder / tag.given["file"]
            refuse_endless(file)
            if "\0" not in tag.given["file"] and file.is_file():
                content = file.read_text(encoding="utf-8", errors="replace")
                here = _Within(content, tag.name == "model")
                _refuse_circle(here, way, file.name)
                if (content, outer[-1]) not in seen:
                    bodies += _look_at(content, folder, outer[-1], [*way, here], seen)
    return bodies


def _refuse_circle(here: _Within, way: list[_Within], name: str) -> None:
    """Make sure that no file attaches, as a model, one that it is within: MuJoCo would crash.

    A circle of files that only include each other it tells by itself.
    """
    contents = [each.content for each in way]
    if here.content in contents:
        after = way[contents.index(here.content) + 1 :]
        if here.is_model or any(each.is_model for each in after):
            raise ValueError(f"the file attaches itself, by way of the model {name}")


def _refuse_counts(tag: _Tag, copies: float) -> None:
    """Make sure that no number of a tag, times the copies of its element, asks for too much."""
    for key, given in tag.given.items():
        if COUNTS.fullmatch(key) or (tag.name, key) == ("numeric", "size"):
            times = copies if key == "count" else 1.0
            if _product(given) * times > MOST_COPIES:
                within = f" in {times:.0f} copies" if times > 1.0 else ""
                raise ValueError(f'{key}="{given:.40}"{within} is more than {MOST_COPIES}')
    for rows, columns in (("nrow", "ncol"), ("width", "height")):
        if rows in tag.given and columns in tag.given:
            cells = _product(tag.given[rows]) * _product(tag.given[columns])
            if cells > MOST_CELLS:
                raise ValueError(f"{rows} times {columns} of <{tag.name}> is over {MOST_CELLS}")


def _tags(text: str) -> Iterator[_Tag]:
    """All tags of a file, up to what is no XML: there MuJoCo's parser ends, too."""
    found = TAG.match(text, text.find("<")) if "<" in text else None
    while found:
        if found[2]:
            given = {
                part[1]: unescape(part[2] if part[2] is not None else part[3])
                for part in ATTRIBUTE.finditer(found[3])
            }
            closes = found[1] == "/" or found[3].endswith("/")
            yield _Tag(found[2], found[1] == "/", not closes, given)
        after = text.find("<", found.end())
        found = TAG.match(text, after) if after >= 0 else None


def _product(given: str) -> float:
    """Of the numbers in a text; 0 if it holds anything else, which MuJoCo refuses by itself."""
    try:
        return math.prod(abs(float(word)) for word in given.split())
    except ValueError:
        return 0.0
