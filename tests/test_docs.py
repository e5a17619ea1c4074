"""The documents hold together: links, anchors, citations of docs/theory.md, and what it names.

Comments and docstrings cite it by section, "docs/theory.md, Warm starts", and nothing that lies
outside of the repository.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dynenvs

ROOT = Path(__file__).parent.parent
FOLDERS = ("agents", "docs", "dynenvs", "envs", "examples", "results", "studies", "tests")
CITATION = "docs/theory.md"
CODE_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)


def files(ending: str) -> list[Path]:
    """All of the repository's files of a kind; links to folders are not followed."""
    found = [path for path in ROOT.glob(f"*{ending}") if path.is_file()]
    for folder in FOLDERS:
        found += (ROOT / folder).rglob(f"*{ending}")
    return sorted({path.resolve() for path in found})


DOCUMENTS = files(".md")
SOURCES = files(".py")


def name(path: Path) -> str:
    """Path in the repository."""
    return str(path.relative_to(ROOT))


@cache
def headings(document: Path) -> list[str]:
    """Texts of a document's headings."""
    text = CODE_FENCE.sub("", document.read_text(encoding="utf-8"))
    return re.findall(r"^#+ (.+?) *$", text, re.MULTILINE)


@cache
def anchors(document: Path) -> set[str]:
    """What links may point to: headings as GitHub turns them into anchors, and own anchors."""
    found = set(re.findall(r'<a id="([^"]+)">', document.read_text(encoding="utf-8")))
    for heading in headings(document):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def prose(source: Path) -> Iterator[str]:
    """Comments, those on following lines joined, and docstrings, on one line each."""
    text = source.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield " ".join((ast.get_docstring(node) or "").split())
    comments: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1 and comments:
                yield " ".join(comments)
                comments = []
            comments.append(token.string.lstrip("# "))
            last = token.start[0]
    yield " ".join(comments)


def wrong_citations(text: str) -> list[str]:
    """Citations of sections that docs/theory.md does not have: "docs/theory.md, No such one"."""
    known = headings(ROOT / CITATION)
    wrong = []
    for match in re.finditer(re.escape(CITATION) + ", ", text):
        rest = text[match.end() :]
        if not any(re.match(re.escape(heading) + r"(?!\w)", rest) for heading in known):
            wrong.append(CITATION + ", " + rest[:40])
    return wrong


def missing_documents(text: str, folder: Path) -> list[str]:
    """Names of .md files that exist neither in the repository's root nor in a folder."""
    named = re.findall(r"(?<![\w/.*<{-])[\w./-]+\.md\b", text)
    return [found for found in named if not any((at / found).is_file() for at in (ROOT, folder))]


def test_the_checks_see_what_is_wrong() -> None:
    """Sections and files that do not exist are told, others not."""
    assert wrong_citations("(docs/theory.md, Warm starts): it") == []
    assert wrong_citations("docs/theory.md, Warm startsX") != []
    assert wrong_citations("see docs/theory.md, Nothing of the kind.") != []
    assert missing_documents("see docs/theory.md or `README.md`.", ROOT) == []
    assert missing_documents("as in physics.md, section 1", ROOT) == ["physics.md"]
    assert missing_documents("shared/notes-of-old.md", ROOT) == ["shared/notes-of-old.md"]
    assert "jain-et-al-2012-table-i-time-over-the-number-of-bodies" in anchors(
        ROOT / "docs/reproduction.md"
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_and_anchors_exist(document: Path) -> None:
    """Every link into the repository, pictures too, leads to a file and, if it says so, a place."""
    text = CODE_FENCE.sub("", document.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (document.parent / path).resolve() if path else document
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_documents_name_what_exists(document: Path) -> None:
    """Of .md files, and of sections of docs/theory.md; code blocks may name a reader's own."""
    text = CODE_FENCE.sub("", document.read_text(encoding="utf-8"))
    assert missing_documents(text, document.parent) == []
    assert wrong_citations(" ".join(text.split())) == []


@pytest.mark.thorough
def test_comments_name_what_exists() -> None:
    """In comments and docstrings of all sources: documents, and sections of docs/theory.md."""
    wrong, cited = [], 0
    for source in SOURCES:
        if source == Path(__file__).resolve():
            continue
        for text in prose(source):
            cited += text.count(CITATION)
            for found in missing_documents(text, source.parent) + wrong_citations(text):
                wrong.append(f"{name(source)}: {found}")
    assert wrong == []
    assert cited > 30


def test_what_the_site_shows_has_no_bars() -> None:
    """reStructuredText takes |x| for the name of a substitution: write norm(x)."""
    for word in dynenvs.__all__:
        shown = re.sub(r"``.*?``", "", inspect.getdoc(getattr(dynenvs, word)) or "")
        assert not re.findall(r"\|\w[^|\n]*\|", shown), word


def test_the_theory_names_what_exists() -> None:
    """Files, and tests as file::test; bare file names belong to the folder that is named before."""
    text = (ROOT / CITATION).read_text(encoding="utf-8")
    places = re.findall(r"`((?:dynenvs|tests|envs|agents|studies)/[\w/.]+?)(?:::(\w+))?`", text)
    assert len(places) > 60
    for path, test in places:
        assert (ROOT / path).exists(), path
        if test:
            source = (ROOT / path).read_text(encoding="utf-8")
            assert re.search(rf"^def {test}\(", source, re.MULTILINE), f"{path}::{test}"
    known = {path.name for path in SOURCES}
    for bare in re.findall(r"`(?:sparse/)?(\w+\.py)`", text):
        assert bare in known, bare
    assert len(headings(ROOT / CITATION)) == len(anchors_of_headings(ROOT / CITATION))


def anchors_of_headings(document: Path) -> set[str]:
    """Anchors of headings alone: as many as headings if no two are the same."""
    own = set(re.findall(r'<a id="([^"]+)">', document.read_text(encoding="utf-8")))
    return anchors(document) - own


def test_every_entry_of_the_diagnostics_is_explained() -> None:
    """A stranger finds each in the tables of docs/diagnostics.md, and none that does not exist."""
    from dynenvs.simulation.diagnostics import Diagnostics

    page = (ROOT / "docs/diagnostics.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(Diagnostics._fields)
