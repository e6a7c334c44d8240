"""Run the README's `$ ackclock ...` commands and put what they print beneath them, so that the tour shows real output.

usage: tour.py [README.md]     (ackclock on PATH; blocks that begin with "```console" are renewed)
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 140
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    document = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "README.md"
    os.chdir(ROOT)
    text = BLOCK.sub(lambda block: renew(block[1]), document.read_text())
    document.write_text(text)
    return 0


def renew(block: str) -> str:
    lines = []
    for command in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        print(command, file=sys.stderr, flush=True)
        lines += [f"$ {command}", output(command), ""]
    return "```console\n" + "\n".join(lines).strip() + "\n```"


def output(command: str) -> str:
    """What a command prints on a plain terminal of a known width."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        os.environ |= {"TERM": "vt100", "NO_COLOR": "1"}
        os.execvp("sh", ["sh", "-c", command])
    printed = b""
    while chunk := read(terminal):
        printed += chunk
    _, status = os.waitpid(child, 0)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode())
    text = "\n".join(line.rstrip() for line in plain.strip().splitlines())
    if status != 0:
        raise SystemExit(f"tour: failed: {command}\n{text}")
    return text


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last writer has closed it
        return b""


if __name__ == "__main__":
    sys.exit(main())
