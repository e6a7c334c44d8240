"""The one reader of JSON from outside the process: files, pipes and the output of commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class NotJson(ValueError):
    """Text that is no JSON.

    Attributes:
        reason: what the parser met, such as "Expecting value".
        line: the line from 1; None where it is not known.
        is_cut: the text ends inside a value.
    """

    def __init__(self, reason: str, line: int | None = None, *, is_cut: bool = False) -> None:
        super().__init__(reason if line is None else f"{reason}, line {line}")
        self.reason = reason
        self.line = line
        self.is_cut = is_cut


def json_value(text: str | bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The value that JSON text has. Bytes are UTF-8, UTF-16 or UTF-32 (RFC 8259, section 8.1, and
    what came before it).

    Raises NotJson.

    >>> json_value('{"down": 1}')
    {'down': 1}
    >>> json_value("[1, ")
    Traceback (most recent call last):
    ackclock.json_text.NotJson: Expecting value, line 1
    """
    try:
        return json.loads(text, object_hook=object_hook)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        raise NotJson(error.msg, error.lineno, is_cut=is_cut) from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 text, byte {error.start + 1}") from None
    except RecursionError:
        raise NotJson("nested too deep") from None
