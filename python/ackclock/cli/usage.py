"""Converts typer's usage errors to one message that names the option as typed."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from ackclock.errors import UsageError, choices, format_value, nearest


def is_usage(error: Exception) -> bool:
    """Whether it is a usage error of typer, detected by its `format_message`: the classes have no
    public path in all versions.
    """
    return hasattr(error, "format_message")


def usage_error(error: Any, arguments: Sequence[str]) -> UsageError:
    """The error to print for it. `arguments` is the whole command line."""
    context = getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    option = getattr(error, "option_name", "") or ""
    if parameter is not None:
        return _missing(context, parameter) if _is_missing(error) else _bad_value(error, parameter, arguments)
    if option:
        return _bad_option(option, context, arguments)
    if context is not None and getattr(context, "parent", None) is None:
        return _no_command(context, arguments)
    if context is not None:
        return _extra(error, context)
    return UsageError.problem(" ".join(error.format_message().split()).rstrip("."), "see ackclock --help")


def _is_missing(error: Any) -> bool:
    return type(error).__name__ == "MissingParameter"


def _missing(context: Any, parameter: Any) -> UsageError:
    name = _name(parameter)
    words = _words(_annotation(context.command.callback, parameter.name))
    hint = (
        f"add {' or '.join(f'{name} {word}' for word in words)}"
        if words and name.startswith("-")
        else f"usage: {_usage(context)}"
    )
    return UsageError.problem(f"{context.info_name} requires {name}", hint, option=name)


def _bad_value(error: Any, parameter: Any, arguments: Sequence[str]) -> UsageError:
    typed = _typed(error, parameter, arguments)
    found = format_value(typed) if typed is not None else "another value"
    allowed = _allowed(error.ctx.command.callback, parameter.name, typed) or " ".join(error.message.split()).rstrip(".")
    return UsageError(found, allowed, option=_name(parameter))


def _bad_option(option: str, context: Any, arguments: Sequence[str]) -> UsageError:
    if context is None:  # the option exists; its value is wrong
        if any(argument.startswith(f"{option}=") for argument in arguments):
            return UsageError.problem(f"{option} takes no value", f"write {option} alone", option=option)
        return UsageError.problem(f"{option} requires a value", f"write it after {option}", option=option)
    known = {
        name.lstrip("-"): name
        for parameter in context.command.params
        for name in parameter.opts
        if name.startswith("-")
    }
    near = nearest(option.lstrip("-"), list(known))
    lists = f"`{context.command_path} --help` lists the options"
    hint = f"did you mean {known[near]}? {lists}" if near else lists
    return UsageError.problem(f"{context.info_name} has no option {option}", hint, option=option)


def _no_command(context: Any, arguments: Sequence[str]) -> UsageError:
    typed = next((argument for argument in arguments if not argument.startswith("-")), "")
    return UsageError(f'no command "{typed}"', choices(context.command.list_commands(context), typed), option="COMMAND")


def _extra(error: Any, context: Any) -> UsageError:
    match = re.search(r" \((.*)\)$", error.message)
    return UsageError.problem(
        f'{context.info_name} takes no further argument "{match[1] if match else ""}"', f"usage: {_usage(context)}"
    )


def _usage(context: Any) -> str:
    return " ".join([context.command_path, *context.command.collect_usage_pieces(context)])


def _name(parameter: Any) -> str:
    """An option as typed, an argument by its name in the help."""
    options = [name for name in parameter.opts if name.startswith("-")]
    return options[0] if options else str(parameter.metavar or parameter.name.upper()).strip("[]")


def _typed(error: Any, parameter: Any, arguments: Sequence[str]) -> str | None:
    """The value as typed."""
    cause = error.__cause__
    if cause is not None and hasattr(cause, "errors"):  # pydantic's, in newer versions of typer
        return str(cause.errors()[0]["input"])
    value = None
    for index, argument in enumerate(arguments):
        for option in parameter.opts:
            if argument == option and index + 1 < len(arguments):
                value = arguments[index + 1]
            elif argument.startswith(f"{option}=") and option.startswith("-"):
                value = argument.removeprefix(f"{option}=")
    quoted = re.match(r"'(.*?)' is not", error.message)
    return value if value is not None else quoted[1] if quoted else None


def _allowed(command: Callable[..., Any], name: str, typed: str | None) -> str | None:
    """The allowed values by the annotations: the values of an enumeration, or a number within
    limits.
    """
    kinds, limits = _annotation(command, name)
    if words := _words((kinds, limits)):
        return choices(words, typed)
    number = "a whole number" if int in kinds else "a number" if float in kinds else None
    low, high = getattr(limits, "min", None), getattr(limits, "max", None)
    if number is None or (low is None and high is None):
        return number
    if high is None:
        return f"{number}, {low} or more"
    return f"{number}, at most {high}" if low is None else f"{number} from {low} to {high}"


def _annotation(command: Callable[..., Any], name: str) -> tuple[list[Any], Any]:
    """The types in a parameter's annotation, and its typer.Option or typer.Argument."""
    hint = typing.get_type_hints(inspect.unwrap(command), include_extras=True).get(name)
    notes = getattr(hint, "__metadata__", (None,))
    plain = typing.get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
    return [plain, *typing.get_args(plain)], notes[0]


def _words(annotation: tuple[list[Any], Any]) -> list[str]:
    """The values of an enumeration; none for another type."""
    return [
        str(each.value) for kind in annotation[0] if isinstance(kind, type) and issubclass(kind, Enum) for each in kind
    ]
