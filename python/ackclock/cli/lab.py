"""lab: the interactive page, on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.options import Quiet, packaged_name


def lab(
    links: Annotated[
        list[Path] | None, typer.Argument(help="Link files to add to the packaged ones.", callback=packaged_name)
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="TCP port on 127.0.0.1; 0 for a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    quiet: Quiet = False,
) -> None:
    """Serve the interactive page on this machine, until Ctrl-C.

    The engine runs in the browser. The page needs no network, and nothing leaves it.
    """
    from ackclock.input.scenario.draft import link_path
    from ackclock.lab.server import CATALOGUE, LabServer, catalogue_with, page_files

    files = page_files()
    if links:
        link_files = [link_path(str(path)) for path in links]
        files = page_files(replaced={CATALOGUE: catalogue_with(link_files, files)})
    with LabServer(files, port) as server:
        print(server.url, flush=True)
        if browser:
            _open(server.url, quiet=quiet)
        server.serve_forever()


def _open(url: str, *, quiet: bool) -> None:
    """Open a browser where there is one; a machine without a display has none."""
    import contextlib
    import webbrowser

    from ackclock.cli.output import remark

    opened = False
    with contextlib.suppress(webbrowser.Error):
        opened = webbrowser.open(url)
    if not opened:
        remark("no browser here: open the address in one", quiet=quiet)
