"""The page: a recording, the script that plays it and its looks, in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dynenvs.files import written_whole
from dynenvs.viewer.encoding import pack, to_json

# Modules of the page by the names that they import each other by, from the lowest to the highest
MODULES = {
    "three": "three/three.min.js",
    "film": "film.js",
    "shapes": "shapes.js",
    "stage": "stage.js",
    "marks": "marks.js",
    "plots": "plots.js",
    "panel": "panel.js",
    "live": "live.js",
    "main": "main.js",
}
HEIGHT = 640  # of the frame in a notebook [px]


class Page:
    """An episode as a page; shows itself in Jupyter.

    Args:
        document: what `Recording.document` gives.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    @property
    def html(self) -> str:
        """The whole page: it needs no network and no other file."""
        return render_page(self._document)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all.

        Returns where it is.

        Raises:
            ValueError: the name does not end in .html.
            OSError: it cannot be written.
        """
        file = html_file(path)
        with written_whole(file) as draft:
            draft.write_text(self.html, encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        source = html.escape(self.html, quote=True)
        style = "border:0;width:100%;border-radius:8px"
        return (
            f'<iframe srcdoc="{source}" height="{HEIGHT}" style="{style}" allowfullscreen></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page {self._document['title']!r}: save('film.html') writes it>"


def html_file(path: str | Path) -> Path:
    """`path` as a name for a page.

    Raises:
        ValueError: it does not end in .html.
    """
    file = Path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"the page is HTML: {str(file)!r} must end in .html")
    return file


def render_page(document: dict[str, Any]) -> str:
    """The HTML of a document: of an episode, or of what is live."""
    slots = {
        "title": html.escape(document["title"]),
        "style": _asset("style.css"),
        "boot": _asset("boot.js"),
        "modules": _modules(),
        "document": pack(to_json(document)),
    }
    # At one go: a title may have braces, too
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: slots[slot[1]], _asset("page.html"))


def content_policy() -> str:
    """What a page that is served may do: run our script, look as it does, ask its own server."""
    boot = base64.b64encode(hashlib.sha256(_asset("boot.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{boot}' blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


@cache
def _asset(name: str) -> str:
    return files("dynenvs.viewer").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _modules() -> str:
    """Every module as an element of its own, compressed, in the order in which they need others."""
    return "\n".join(
        f'<script type="application/octet-stream" class="module" data-name="{name}">'
        f"{pack(_asset(file))}</script>"
        for name, file in MODULES.items()
    )
