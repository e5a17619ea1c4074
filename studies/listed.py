"""Tables that do not fit into the console, as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def fits(table: Table, console: Console) -> bool:
    """Whether a table's rows are one line each on this console."""
    return console.measure(table, options=console.options.update(width=10**4)).maximum <= (
        console.width
    )


def print_listed(console: Console, head: str, parts: Sequence[str]) -> None:
    """A line, and below it parts that stay whole, as many in a line as there is room for."""
    whole = "; ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
    wrapper = textwrap.TextWrapper(console.width, "    ", "    ", break_on_hyphens=False)
    lines = wrapper.wrap(whole)
    for line in [*textwrap.wrap(head, console.width, subsequent_indent="  "), *lines]:
        text = line.replace("\N{NO-BREAK SPACE}", " ")
        console.print(text, highlight=False, markup=False, soft_wrap=True)
