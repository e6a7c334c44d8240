"""Classes of the user, which files name as "python:module.Class"."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from ackclock.errors import InvalidValue, format_value

PREFIX = "python:"
_PASSED: dict[str, type[Any]] = {}  # classes passed as objects, by name


def remember(name: str, class_: type[Any]) -> None:
    """A class was passed as an object, and has this name."""
    _PASSED[name] = class_


def find(name: str, base: type[Any]) -> type[Any]:
    """The class of "python:module.Class", which derives from `base`. Raises InvalidValue."""
    module, _, kind = name.removeprefix(PREFIX).rpartition(".")
    allowed = f'"python:module.Class" with a class that derives from ackclock.{base.__name__}'
    if name in _PASSED and issubclass(_PASSED[name], base):
        return _PASSED[name]
    if not module or not kind.isidentifier():
        raise InvalidValue(format_value(name), allowed)
    try:
        class_ = getattr(_imported(module), kind, None)
    except ImportError as error:
        raise InvalidValue(f"{format_value(name)}, which cannot be imported ({error})", allowed) from None
    if not (isinstance(class_, type) and issubclass(class_, base)):
        raise InvalidValue(f"{format_value(name)}, which is no such class", allowed)
    return class_


def _imported(module: str) -> Any:
    here = str(Path.cwd())
    if here in sys.path:
        return import_module(module)
    sys.path.insert(0, here)
    try:
        return import_module(module)
    finally:
        sys.path.remove(here)
