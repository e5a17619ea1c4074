"""What `dynenvs view` does: a page written and opened, or served."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

from rich.console import Console

from dynenvs.agents.console import working
from dynenvs.agents.files import check_writable
from dynenvs.agents.names import is_dataset, short_name
from dynenvs.viewer.episode import open_env
from dynenvs.viewer.live import LiveServer, serve
from dynenvs.viewer.page import html_file
from dynenvs.viewer.view import view


def show(name: str, output: Path | None, console: Console, browser: bool, **what: Any) -> Path:
    """Write an episode's page, and open it where there is a display.

    Args:
        name: of an environment or a dataset.
        output: file to write; named after the environment if None.
        console: where progress is printed.
        browser: whether to open it.
        what: as `dynenvs.view` takes it.

    Returns where it is.

    Raises:
        ValueError: as `dynenvs.view`; or the file's name does not end in .html.
        OSError: it cannot be written.
    """
    bare = name.removeprefix("dynenvs/").replace("/", "-") if is_dataset(name) else short_name(name)
    file = html_file(output or f"dynenvs-{bare}.html")
    check_writable(file)  # better to know before the episode than after it
    with working(console, f"running {bare}"):
        page = view(name, **what)
    page.save(file)
    console.print(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)", highlight=False)
    if browser:
        webbrowser.open(file.resolve().as_uri())
    return file


def show_live(
    env_id: str,
    console: Console,
    browser: bool,
    *,
    agent: str,
    seed: int,
    steps: int | None,
    port: int,
    plots: list[str] | None,
    **options: Any,
) -> None:
    """Serve a running environment until Ctrl-C.

    Args:
        env_id: which environment.
        console: where the address is printed.
        browser: whether to open it.
        agent, seed, steps: as for `dynenvs.view`.
        port: to listen on; any free one if 0.
        plots: names of those that are open at first; the usual ones if None.
        options: of the environment.

    Raises:
        ValueError: no such agent, plot or option; a value out of its range.
        OSError: the port is taken.
    """
    env, policy = open_env(env_id, agent, seed, steps, options)

    def opened(server: LiveServer) -> None:
        console.print(f"{server.url}   (Ctrl-C ends it)", highlight=False, soft_wrap=True)
        if browser:
            webbrowser.open(server.url_for_once)

    try:
        serve(env, policy, seed=seed, port=port, plots=plots, opened=opened)
    finally:
        env.close()
