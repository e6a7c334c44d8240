"""The arguments of a command, described once for its options and for its Python function.

A struct of arguments is a frozen dataclass whose fields are `argument`s. Nothing heavy is imported
here: the help of the command line reads these descriptions.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, dataclass_transform

from ackclock.errors import InputError, choices, format_value

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")
COMMAS = ", with commas between"
"""In the text of a list. A Python argument is a sequence, and its text is without this."""


@dataclass(frozen=True)
class Argument:
    """The description of an argument.

    Attributes:
        text: the help of its option, and its text in Python, where ``call`` follows.
        name: the option, by default the field's name; in capitals: a positional argument; None: the
            command line has none.
        kind: the type of the written value, by default the field's: int, bool or str.
        min, max: the bounds of a number.
        words: the allowed words, and the value that each stands for.
        allowed: the allowed values, which `check` compares.
        read: the argument's value from the written one.
        complete: the function of `cli.complete`; ``envvar``: the variable that replaces the option.
        keys: keys of a file that it sets, beside its own name: their errors name the option.
        quick: the default with ``--quick``; None: the usual one.
    """

    text: str
    call: str = ""
    name: str | None = ""
    kind: Any = None
    min: int | None = None
    max: int | None = None
    words: Mapping[str, Any] = field(default_factory=dict)
    allowed: Collection[str] = ()
    read: Callable[[Any], Any] = lambda written: written
    complete: str = ""
    envvar: str | None = None
    keys: tuple[str, ...] = ()
    quick: Any = None


def argument(text: str | Argument, call: str = "", *, default: Any = MISSING, **further: Any) -> Any:
    """A field of a struct of arguments; ``further`` are attributes of its `Argument`."""
    described = Argument(text) if isinstance(text, str) else text
    return field(default=default, metadata={"argument": replace(described, call=call, **further)})


@dataclass_transform(frozen_default=True, field_specifiers=(argument,))
def struct(cls: type[A]) -> type[A]:
    """Makes a class of `argument`s a frozen dataclass."""
    return dataclass(frozen=True)(cls)


def described(arguments: Any) -> dict[str, Argument]:
    """The arguments of a struct by field, with their names and kinds."""
    by_field = {}
    for entry in fields(arguments):
        argument: Argument = entry.metadata["argument"]
        kind = argument.kind or {"int": int, "bool": bool}.get(str(entry.type).split()[0], str)
        name = f"--{entry.name.replace('_', '-')}" if argument.name == "" else argument.name
        read = argument.words.__getitem__ if argument.words else argument.read
        by_field[entry.name] = replace(argument, name=name, kind=kind, read=read)
    return by_field


def check(arguments: Any) -> None:
    """Raise InputError for a value that is not among the allowed ones."""
    for name, argument in described(type(arguments)).items():
        value = getattr(arguments, name)
        if argument.allowed and value not in argument.allowed:
            raise InputError(format_value(value), choices(argument.allowed, value), key=name)


def option_names(arguments: type) -> dict[str, str]:
    """Maps each field and each key that it sets to its option as an error names it."""
    options = {name: option for name, option in described(arguments).items() if option.name}
    return {key: str(option.name).split("/")[0] for name, option in options.items() for key in (name, *option.keys)}


def quick_defaults(arguments: type) -> dict[str, Any]:
    """The defaults with ``--quick`` that differ from the usual ones."""
    return {name: argument.quick for name, argument in described(arguments).items() if argument.quick is not None}


def with_arguments(arguments: Callable[P, A]) -> Callable[[Callable[[A], R]], Callable[P, R]]:
    """Decorates a function of a struct of arguments: it takes the arguments themselves. Its
    signature and the Args of its docstring are those of the struct, whose class method
    `defaults_beside`, if it has one, gives the defaults that depend on the given arguments.
    """

    def decorated(function: Callable[[A], R]) -> Callable[P, R]:
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            names = (entry.name for entry in fields(arguments))  # type: ignore[arg-type]
            both = {**dict(zip(names, args, strict=False)), **kwargs}
            given = {key: value for key, value in both.items() if value is not None}
            defaults: dict[str, Any] = getattr(arguments, "defaults_beside", lambda _: {})(given)
            beside = {key: value for key, value in defaults.items() if key not in given}
            return function(arguments(*args, **{**kwargs, **beside}))

        for name in ("__module__", "__name__", "__qualname__"):
            setattr(call, name, getattr(function, name))
        vars(arguments)["__init__"].__qualname__ = function.__qualname__  # which a TypeError names
        signature, returned = inspect.signature(arguments), inspect.signature(function).return_annotation
        call.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
        head, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        call.__doc__ = f"{head}\n\nArgs:\n{_args(arguments)}\n\n{rest}"
        return call

    return decorated


def _args(arguments: Any) -> str:
    """The lines of a docstring's Args."""
    names = {argument.name: f"`{name}`" for name, argument in described(arguments).items()}
    lines = []
    for name, argument in described(arguments).items():
        text = re.sub(r"--[a-z-]+", lambda option: names.get(option[0], option[0]), argument.text.replace(COMMAS, ""))
        lines.append(textwrap.fill(f"    {name}: {text} {argument.call}", 96, subsequent_indent=" " * 8))
    return "\n".join(lines)


def listed(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [part.strip() for part in text.split(",")]


WORKERS = Argument("Runs at a time (default: all cores).", name="--workers", min=1, max=1024)
SERIES = Argument(
    "Time series to keep: none, sampled (one seed of each point) or all.",
    name="--series",
    allowed=("none", "sampled", "all"),
)
OUT = Argument("The run folder (default: runs/<hash>).", name="--out", kind=Path)
OUT_URL = Argument("The run folder, or a URL such as s3://bucket/study (default: runs/<hash>).", name="--out")
FORCE = Argument("Rename another run in --out (to NAME.1) instead of stopping.", name="--force")
SERVER_PORT = Argument("TCP and UDP port of the server.", name="--port", min=0, max=65535)
TOKEN_FILE = Argument("The file with the shared token.", name="--token-file", kind=Path, envvar="ACKCLOCK_TOKEN_FILE")
