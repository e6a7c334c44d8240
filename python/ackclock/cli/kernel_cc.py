"""kernel-cc: the papers' congestion controls in the running kernel."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ackclock.cli import complete
from ackclock.cli.options import Json


class KernelVerb(StrEnum):
    load = "load"
    unload = "unload"
    list = "list"


def kernel_cc(
    verb: Annotated[KernelVerb, typer.Argument(help="What to do.")],
    variants: Annotated[
        list[str] | None,
        typer.Argument(
            help="vegas, veno, westwood+, bic, biad; all by default.",
            autocompletion=complete.kernel_variants,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Load the papers' congestion controls into the running kernel, for any program
    (TCP_CONGESTION). `make kernel-cc` builds them.

    Loading requires root. They remain until they are unloaded or the machine restarts.
    """
    from ackclock.emulation.kernel_cc import run

    return run(verb.value, variants or [], json=json)
