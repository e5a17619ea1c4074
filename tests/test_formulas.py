"""Formulas of the documents: written as GitHub reads them, and drawn by the site without a script.

Within a line $`x^2`$, blocks as ```math, in notebooks $x^2$; the site has MathML
(docs/_ext/mathml.py).
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from browsers import browser_path, user_flags
from test_docs import CODE_FENCE, DOCUMENTS, ROOT, files, name

INLINE = re.compile(r"\$`([^`]+)`\$")
BLOCK = re.compile(r"^ *```math\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE_OF_NOTEBOOKS = re.compile(r"\$([^$]+)\$")
CODE = re.compile(r"`[^`]*`")
WITH_NOTEBOOKS = DOCUMENTS + files(".ipynb")
# What the browser made of the first matrix and the first fraction of a page
MEASURE = """<pre id="measured"></pre><script>
const corners = (b) => [b.left, b.top, b.right, b.bottom];
const box = (element) => corners(element.getBoundingClientRect());
const rows = [...document.querySelector("math mtable").children].map(box);
const [base, low] = [...document.querySelector("math msub").children].map(box);
const [over, under] = [...document.querySelector("math mfrac").children].map(box);
document.getElementById("measured").textContent = JSON.stringify({rows, base, low, over, under});
</script></body>"""


def prose(document: Path) -> str:
    """The text of a document, of a notebook its words, without blocks of code."""
    text = document.read_text(encoding="utf-8")
    if document.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return text


def formulas(document: Path) -> list[str]:
    """The LaTeX of a document's formulas: within lines, then blocks."""
    text = prose(document)
    if document.suffix == ".ipynb":
        return INLINE_OF_NOTEBOOKS.findall(CODE.sub("", text))
    return INLINE.findall(text) + BLOCK.findall(text)


@pytest.mark.parametrize("document", WITH_NOTEBOOKS, ids=name)
def test_formulas_are_written_as_they_are_read(document: Path) -> None:
    """No dollar stands in prose but a formula's."""
    text = CODE_FENCE.sub("", prose(document))
    if document.suffix == ".ipynb":
        text = INLINE_OF_NOTEBOOKS.sub("", CODE.sub("", text))
    assert "$" not in CODE.sub("", INLINE.sub("", text))


@pytest.mark.parametrize("document", [*filter(formulas, WITH_NOTEBOOKS)], ids=name)
def test_every_formula_can_be_drawn(document: Path) -> None:
    """Of all documents, by the converter of the site, which refuses what it does not know."""
    core = pytest.importorskip("math_core", reason="math-core, of the extra docs, is missing")
    latex = core.LatexToMathML(fancy_error=False)
    for formula in formulas(document):
        assert latex.convert_with_local_state(formula, displaystyle=False).startswith("<math")
    with pytest.raises(core.LatexError):
        latex.convert_with_local_state(r"\nosuchcommand", displaystyle=False)


@pytest.fixture(scope="module")
def theory(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page that the site makes of the theory, alone."""
    for needed in ("sphinx", "furo", "myst_nb", "math_core"):
        pytest.importorskip(needed, reason=f"{needed}, of the extra docs, is missing")
    folder = tmp_path_factory.mktemp("site")
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/theory.md", folder / "docs/index.md")
    command = [sys.executable, "-m", "sphinx", "-q", "-c", ROOT / "docs", folder / "docs"]
    extensions = runpy.run_path(str(ROOT / "docs/conf.py"))["extensions"]
    extensions = [name for name in extensions if not name.endswith("_pages")]
    own = ["-D", f"extensions={','.join(extensions)}", folder / "out"]
    done = subprocess.run([*command, *own], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no formula in LaTeX" not in done.stderr
    return (folder / "out/index.html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_page_has_each_formula_and_no_latex(theory: str) -> None:
    """As many as the document, and no backslash, dollar or back-quote in any text."""
    assert theory.count("<math") == len(formulas(ROOT / "docs/theory.md")) > 400
    text = unescape(re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", theory, flags=re.DOTALL))
    assert re.findall(r".{20}[\\$`].{20}", text) == []


@pytest.mark.thorough
def test_the_page_needs_no_network(theory: str) -> None:
    """Scripts and styles are the site's own, and none of them draws formulas."""
    loaded = re.findall(r'<(?:script|link)[^>]*?(?:src|href)="([^"]+)"', theory)
    assert loaded
    assert [address for address in loaded if re.search(r"^\w+:|^//|mathjax", address)] == []


@pytest.mark.thorough
def test_a_browser_draws_it(theory: str, tmp_path: Path) -> None:
    """A matrix has its rows below each other, a subscript and a denominator are low."""
    page = tmp_path / "page.html"
    page.write_text(theory.replace("</body>", MEASURE), encoding="utf-8")
    flags = ["--headless", "--disable-gpu", "--disable-background-networking", *user_flags()]
    command = [browser_path(), *flags, f"--user-data-dir={tmp_path}/user", "--dump-dom"]
    shown = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=300)
    found = re.search(r'<pre id="measured">(.+?)</pre>', shown.stdout)
    assert found, shown.stderr[-2000:]
    boxes = json.loads(unescape(found[1]))
    upper, lower = boxes["rows"][:2]
    assert lower[1] >= upper[3] - 1.0 > upper[1] + 5.0
    base, low = boxes["base"], boxes["low"]
    assert low[0] >= base[2] - 1.0
    assert low[1] + low[3] > base[1] + base[3]
    assert boxes["under"][1] > boxes["over"][1] + 3.0
