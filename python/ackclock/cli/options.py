"""Options that every command has, and those of a command whose arguments are one struct."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields
from enum import StrEnum
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock import arguments
from ackclock.arguments import Argument
from ackclock.cli import complete


def packaged_name(value: Any) -> Any:
    """The name of a packaged link in place of another name for it, which a remark says; any other
    value as it is.
    """
    from ackclock.cli.progress import status_line
    from ackclock.input.link.names import other_name

    if isinstance(value, list | tuple):
        return [packaged_name(one) for one in value]
    other = other_name(str(value)) if isinstance(value, str | Path) else None
    if other is None or Path(value).exists() or Path(f"{value}.toml").is_file():
        return value
    status_line(other.sentence())
    return type(value)(other.link)


def of_typer(it: Argument) -> Any:
    """The description of an option, or of a positional argument, for typer."""
    further: dict[str, Any] = {"help": it.text, "min": it.min, "max": it.max, "envvar": it.envvar}
    if it.complete:
        further["autocompletion"] = getattr(complete, it.complete)
    if it.complete == "links":
        further["callback"] = packaged_name
    return typer.Argument(**further) if str(it.name).isupper() else typer.Option(it.name, **further)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[Path | None, of_typer(arguments.OUT)]
OutUrl = Annotated[str | None, of_typer(arguments.OUT_URL)]
Force = Annotated[bool, of_typer(arguments.FORCE)]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**63 - 1, help="One seed instead of the scenario's."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no remarks on stderr.")]
Workers = Annotated[int | None, of_typer(arguments.WORKERS)]
Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write report.html into the run folder (some seconds).")
]
Dask = Annotated[str | None, typer.Option("--dask", help="Run on the Dask cluster at this address.")]
Series = Annotated[str, of_typer(arguments.SERIES)]
Port = Annotated[int, of_typer(arguments.SERVER_PORT)]
TokenFile = Annotated[Path | None, of_typer(arguments.TOKEN_FILE)]

TYPED = ("COMMANDLINE", "ENVIRONMENT")
"""Where the parser has a typed value from, whatever it is: one that equals the default, too."""


def with_options(struct: type, *, after: Mapping[str, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command whose options are those of a struct of arguments, beside its own
    parameters. It is called with ``given``: the typed arguments, whatever their values, by field.

    A parameter in `after` follows that field's option in the help; each other one follows the
    parameter before it.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        options = {name: argument for name, argument in arguments.described(struct).items() if argument.name}
        parameters = {name: _parameter(struct, name, argument) for name, argument in options.items()}
        parameters["context"] = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
        order, place = list(parameters), 0
        for name, parameter in list(inspect.signature(command, eval_str=True).parameters.items())[1:]:
            place = order.index(after[name]) + 1 if name in after else place + 1
            order.insert(place, name)
            parameters[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)

        def run(context: typer.Context, **values: Any) -> None:
            written = {name: values.pop(name) for name in options}
            typed = [name for name in options if getattr(context.get_parameter_source(name), "name", "") in TYPED]
            command({name: options[name].read(written[name]) for name in typed}, **values)

        run.__signature__ = inspect.Signature([parameters[name] for name in order])  # type: ignore[attr-defined]
        run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorated


def _parameter(struct: type, name: str, it: Argument) -> Parameter:
    """An option as a parameter of a command, for typer, with the default as it would be written."""
    default = next(field.default for field in fields(struct) if field.name == name)
    kind: Any = StrEnum(name, {word: word for word in it.words}) if it.words else it.kind
    if default is MISSING:
        default = Parameter.empty
    elif it.words and default is not None:
        default = next(word for word, value in it.words.items() if value == default)
    elif default in (None, ()):
        default, kind = None, kind | None
    elif isinstance(default, tuple):
        default = ",".join(default)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, of_typer(it)])


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
