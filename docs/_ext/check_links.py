"""Every link within a built site leads to a file of it and, if it says so, to a place in the file.

`python docs/_ext/check_links.py SITE`; links that leave the site are counted, not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HELD = {"a": "href", "link": "href", **dict.fromkeys(("iframe", "img", "script", "source"), "src")}


class Links(HTMLParser):
    """What a page links to, and the places in it."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = {"", "top"}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link and an anchor."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)
            elif HELD.get(tag) == name:
                self.targets.add(value)


def read(page: Path) -> Links:
    """The links of a page."""
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def broken(site: Path) -> tuple[list[str], int, int]:
    """Links that lead nowhere, as "page: link"; how many there are inside and outside."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    wrong, inside, outside = [], 0, set()
    for page, links in pages.items():
        for target in sorted(links.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                outside.add(target) if parts.scheme in ("http", "https") else None
                continue
            inside += 1
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            found = file.is_file() and (
                file not in pages or unquote(parts.fragment) in pages[file].places
            )
            if not found:
                wrong.append(f"{page.relative_to(site.resolve())}: {target}")
    return wrong, inside, len(outside)


def main() -> int:
    """Say what was found; 1 if a link is broken."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "index.html").is_file():
        print(f"usage: {sys.argv[0]} SITE, a folder that sphinx-build has written", file=sys.stderr)
        return 2
    wrong, inside, outside = broken(Path(sys.argv[1]))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{inside} links within the site, {len(wrong)} broken; {outside} lead out, not followed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
