"""Formulas as MathML, which browsers draw by themselves, without a script and a network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

LATEX = LatexToMathML(fancy_error=False)
LOGGER = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx, which prefers it to its own MathJax."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: Any, node: Any) -> None:
    """Write a formula within a line."""
    translator.body.append(mathml(node, displaystyle=False))
    raise nodes.SkipNode


def block(translator: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f'<div class="math">{mathml(node, displaystyle=True)}</div>\n')
    raise nodes.SkipNode


def mathml(node: Any, *, displaystyle: bool) -> str:
    """The formula of a node; its LaTeX, and a warning, if it cannot be read."""
    latex = node.astext()
    try:
        return LATEX.convert_with_local_state(latex, displaystyle=displaystyle)
    except LatexError as error:
        LOGGER.warning("no formula in LaTeX: %s: %r", error, latex, location=node)
        return f"<code>{escape(latex)}</code>"
