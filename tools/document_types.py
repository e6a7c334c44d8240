"""Writes python/ackclock/documents/engine.pyi: what type checkers know of the documents' parts that
the engine makes (crates/contract).

usage: document_types.py [--check]    (with --check: status 1 if the file differs)
"""

from __future__ import annotations

import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from ackclock import _native

STUB = Path(__file__).resolve().parent.parent / "python/ackclock/documents/engine.pyi"
INDENT = "    "
HEAD = '''"""Parts of documents that the engine makes. Written by tools/document_types.py from the structs of
crates/.
"""

from typing import Literal, NotRequired, TypedDict
'''


def stub() -> str:
    """The text of engine.pyi, formatted."""
    text = HEAD + "".join(f"\n{''.join(_type(*one))}" for one in _native.document_types())
    command = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename", STUB.name, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _type(name: str, text: str, keys: list[tuple[str, str, str, bool]]) -> Iterator[str]:
    annotated = {key: of if required else f"NotRequired[{of}]" for key, _, of, required in keys}
    if any(map(keyword.iskeyword, annotated)):
        entries = ", ".join(f'"{key}": {of}' for key, of in annotated.items())
        yield f'{name} = TypedDict("{name}", {{{entries}}})\n'
        return
    yield f"class {name}(TypedDict):\n"
    if text:
        lines = textwrap.wrap(text, 90)
        yield INDENT + '"""' + f"\n{INDENT}".join([*lines, ""] if len(lines) > 1 else lines) + '"""\n\n'
    yield from (f"    {key}: {of}\n" for key, of in annotated.items())


if __name__ == "__main__":
    text = stub()
    if sys.argv[1:] != ["--check"]:
        STUB.write_text(text, encoding="utf-8")
    elif text != STUB.read_text(encoding="utf-8"):
        sys.exit(f"{STUB.name} is not what the engine says: run tools/document_types.py")
