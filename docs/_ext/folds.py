"""Parts of a page that begin closed."""


def folded(summary: str, text: str) -> str:
    """What a click on `summary` (HTML) opens.

    Args:
        summary: the line that is always seen.
        text: Markdown without headings; those stay outside, where links find them.
    """
    return f'<details class="fold"><summary>{summary}</summary>\n\n{text}\n\n</details>'
