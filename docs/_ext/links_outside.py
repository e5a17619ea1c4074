"""Links that leave the folder of the documents: files are offered to be read, folders are named.

The pages are read in the repository, too, where `[here](../examples/x.py)` leads to the file.  On
the site such a file comes along as a download; a folder has no page, and its words stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")
PAGES = {"README.md": "index", "CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing"}


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", rewrite)
    app.connect("include-read", rewrite_included)
    return {"parallel_read_safe": True}


def rewrite(app: Any, name: str, source: list[str]) -> None:
    """Change the links of a page; notebooks have none."""
    if source[0].startswith("{"):
        return
    folder = (Path(app.srcdir) / name).parent
    source[0] = github_to_myst(changed(source[0], folder, Path(app.srcdir)))


def rewrite_included(app: Any, path: Path, parent: str, source: list[str]) -> None:
    """Change the links of a file that a page includes: they count from the file's own folder."""
    here = (Path(app.srcdir) / path).resolve().parent
    docs = Path(app.srcdir).resolve()
    if docs not in (here, *here.parents):
        text = re.sub(r"\]\(docs/", "](", source[0])
        source[0] = re.sub(r"\]\((?!\w+:|#)([\w./-]+)\)", lambda m: _from(m, here, docs), text)


def github_to_myst(text: str) -> str:
    """What GitHub writes otherwise: formulas, and links to anchors set in HTML.

    Formulas are $`x^2`$ within a line and blocks of "math"; GitHub reads $x^2$ too, but takes
    backslashes before signs away first, as if it were prose.
    """
    for anchor in re.findall(r'<a id="([^"]+)">', text):
        text = re.sub(rf"\[([^\]]*)\]\(#{anchor}\)", rf'<a href="#{anchor}">\1</a>', text)
    text = re.sub(r"\$(`[^`]+`)\$", r"{math}\1", text)
    return re.sub(r"^( *)```math$", r"\1```{math}", text, flags=re.MULTILINE)


def _from(match: re.Match[str], here: Path, docs: Path) -> str:
    """The link of an included file as one of the page that includes it."""
    target = match[1]
    if target in PAGES:
        return f"]({PAGES[target]}.md)"
    return match[0] if (docs / target).exists() else f"](../{target})"


def changed(text: str, folder: Path, root: Path) -> str:
    """A page's text with its links to files outside of `root` as downloads."""

    def one(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        path = (folder / target).resolve()
        if root.resolve() in path.parents:
            return match[0]
        if path.name in PAGES:
            up = "../" * len(folder.resolve().relative_to(root.resolve()).parts)
            return f"[{words}]({up}{PAGES[path.name]}.md)"
        plain = words.replace("`", "")
        return f"{{download}}`{plain} <{target}>`" if path.is_file() else words

    return LINK.sub(one, text)
