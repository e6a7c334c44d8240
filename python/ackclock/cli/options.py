"""Options that every command has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run folder (default: runs/<hash>).", show_default=False)]
OutUrl = Annotated[
    str | None,
    typer.Option(
        "--out", help="The run folder, or a URL such as s3://bucket/study (default: runs/<hash>).", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Rename another run in --out (to NAME.1) instead of stopping.")]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**63 - 1, help="One seed instead of the scenario's.", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no remarks on stderr.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Runs at a time (default: all cores).", show_default=False)
]
Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write report.html into the run folder (some seconds).")
]
Dask = Annotated[
    str | None, typer.Option("--dask", help="Run on the Dask cluster at this address.", show_default=False)
]

Series = Annotated[
    str,
    typer.Option("--series", help="Time series to keep: none, sampled (one seed of each point) or all."),
]

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="TCP and UDP port of the server.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", help="The file with the shared token.", envvar="ACKCLOCK_TOKEN_FILE", show_default=False
    ),
]


def one_of(value: str, allowed: Iterable[str], option: str) -> None:
    """Raise InputError for a value that is not allowed."""
    from ackclock.errors import InputError, choices, format_value

    names = list(allowed)
    if value not in names:
        raise InputError(format_value(value), choices(names, value), option=option)


@contextmanager
def typed(options: Mapping[str, str], *, over_file: bool = False) -> Iterator[None]:
    """Name the command line's option in an error instead of the key that it sets. `options` maps
    key to option.

    An error in a line of a file keeps its key, unless the options override the file (`over_file`).
    """
    from ackclock.errors import InputError

    try:
        yield
    except InputError as error:
        option = None if error.line is not None and not over_file else options.get(re.sub(r"\[\d+\]", "", error.key))
        raise (error if option is None else error.with_option(option)) from None


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was given, whatever its value: one that equals the default, too."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def time_of(text: str, option: str) -> int:
    """An option's time, such as "5 ms", in picoseconds.

    Raises InputError, which names the option.
    """
    from ackclock.errors import InputError, InvalidValue
    from ackclock.input.units import time_ps

    try:
        return time_ps(text)
    except InvalidValue as invalid:
        raise InputError.of(invalid, option=option) from None


def time_above_zero(text: str, option: str) -> int:
    """An option's time above zero, in picoseconds. Raises InputError, which names the option."""
    from ackclock.errors import InputError

    time = time_of(text, option)
    if time <= 0:
        raise InputError(f'"{text}"', "a time above zero", option=option)
    return time
