"""Check that documents link to symbols that exist: python tools/symbols.py docs/inside/journey.md
docs/inside/where.md

A link whose text is code, [`LinkMeter::arrive`](../crates/core/src/meter.rs), names a symbol: the
file must define it. Rust: fn, struct, enum, trait, type, const, static, macro; Python: def, class,
or an assignment; TOML: a key. Other links must have a target.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"\[(?P<text>[^\]\[]+)\]\((?P<target>[^)\s#]+)(?:#[^)\s]*)?\)")
DEFINITIONS = {
    ".rs": r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!)\s+{name}\b|^\s*{name}\s*(?:,|\(|\{{|=|$)",
    ".py": r"^\s*(?:def|class)\s+{name}\b|^\s*{name}\s*(?::|=)",
    ".pyi": r"^\s*(?:def|class)\s+{name}\b|^\s*{name}\s*(?::|=)",
    ".toml": r"^\s*{name}\s*=|^\[+{name}\]",
}


def faults(document: Path) -> Iterator[str]:
    """Links of a Markdown document whose file or symbol does not exist."""
    for number, line in enumerate(document.read_text("utf-8").splitlines(), 1):
        for link in LINK.finditer(line):
            text, target = link["text"], link["target"]
            if "://" in target:
                continue
            path = (document.parent / target).resolve()
            if not path.exists():
                yield f"{document}:{number}: {target} does not exist"
            elif text.startswith("`") and not defines(path, text.strip("`")):
                yield f"{document}:{number}: {target} does not define {text.strip('`')}"


def defines(path: Path, symbol: str) -> bool:
    """Whether the file defines the last part of `Type::method`, `Type.method` or `function`."""
    name = re.split(r"::|\.", symbol.removesuffix("()"))[-1]
    if path.suffix not in DEFINITIONS or path.name == name or not name.isidentifier():
        return path.name == symbol or path.is_dir() or symbol in path.read_text("utf-8")
    return (
        re.search(DEFINITIONS[path.suffix].format(name=re.escape(name)), path.read_text("utf-8"), re.MULTILINE)
        is not None
    )


def main() -> int:
    """Print the faults of the documents on the command line; exit status 1 if there are any."""
    found = [fault for name in sys.argv[1:] for fault in faults(Path(name))]
    print("\n".join(found) or f"{len(sys.argv) - 1} documents: every link and symbol exists")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
