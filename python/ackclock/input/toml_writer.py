"""Writes plain values as TOML: top-level keys, then tables, then arrays of tables with inline inner
tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(data: Mapping[str, Any]) -> str:
    """TOML text that parses to `data`. None is left out: TOML has no null."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in data.items() if _is_plain(value)]
    for key, value in data.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(key)}]", *_pairs(value)]
    for key, value in data.items():
        if _is_tables(value):
            for table in value:
                lines += ["", f"[[{_key(key)}]]", *_pairs(table)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping) and not _is_tables(value)


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return _text(str(value))


def _text(text: str) -> str:
    # JSON's escapes are TOML's, except for DEL and for lone surrogates, which stand for undecodable
    # bytes of paths.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
