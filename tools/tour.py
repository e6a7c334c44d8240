"""Update the parts of documents that are the output of a command, or check them against it.

Standard library only; `ackclock` on PATH. There are three kinds. Blocks that begin with
"```console":

- `$ ackclock ...`: the same output on every machine. It runs in an empty folder with `examples` in
  it, so no earlier run folder answers. `--check` runs it and compares; the gate does.
- any other command, such as `$ make --silent bench`: figures of one machine on one day. Below the
  block is a line with the command, the date, the machine's state and a digest of the block,
  which only this tool writes; `--check` verifies the digest, so a block cannot be edited by hand.

And Markdown between `<!-- printed by: COMMAND -->` and `<!-- end -->`, with the same line in front.
A command that ends with the status 77 (a skipped test of Automake) lacks something on this machine:
its part stays as it is, with its date.

usage: tour.py [--check] [DOCUMENT ...]     (default: README.md)
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import hashlib
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 140
BLOCK = re.compile(
    r"^```console\n(?P<body>.*?)^```$(?P<stamp>\n\n\*Made by `(?P<made_by>[^`]+)`.*?digest (?P<digest>[0-9a-f]{12})\.\*$)?",
    re.MULTILINE | re.DOTALL,
)
PART = re.compile(
    r"^<!-- printed by: (?P<command>.*?) -->\n(?:\*Made by [^\n]*?digest (?P<digest>[0-9a-f]{12})\.\*\n\n)?(?P<body>.*?)^<!-- end -->$",
    re.MULTILINE | re.DOTALL,
)
REPEATABLE = "ackclock "
SKIPPED = 77


@dataclass(frozen=True)
class Block:
    """One console block. `digest` is that of its stamp line, None without one."""

    body: str
    digest: str | None

    @property
    def commands(self) -> list[str]:
        return re.findall(r"^\$ (.*)$", self.body, flags=re.MULTILINE)

    @property
    def is_repeatable(self) -> bool:
        """Whether the output is the same on every machine."""
        return all(command.startswith(REPEATABLE) for command in self.commands)

    def printed(self) -> str:
        """The block's body with the present output of its commands."""
        lines = []
        with tempfile.TemporaryDirectory() as scratch:
            Path(scratch, "examples").symlink_to(ROOT / "examples")
            for command in self.commands:
                print(command, file=sys.stderr, flush=True)
                lines += [
                    f"$ {command}",
                    on_terminal(command, Path(scratch)) if self.is_repeatable else figures(command),
                    "",
                ]
        return "\n".join(lines).strip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("documents", nargs="*", type=Path, default=[ROOT / "README.md"])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 where a block is not what its commands print"
    )
    args = parser.parse_args()
    documents = [document.resolve() for document in args.documents]
    if args.check:
        faults = [fault for document in documents for fault in check(document)]
        print("\n".join(faults) or "every block is what its commands print", file=sys.stderr)
        return 1 if faults else 0
    for document in documents:
        text = BLOCK.sub(lambda match: renewed(block_of(match)), document.read_text("utf-8"))
        document.write_text(PART.sub(renewed_part, text), "utf-8")
    return 0


def block_of(match: re.Match[str]) -> Block:
    return Block(match["body"], match["digest"])


def blocks(document: Path) -> Iterator[Block]:
    yield from map(block_of, BLOCK.finditer(document.read_text("utf-8")))


def check(document: Path) -> Iterator[str]:
    """Errors of a document's parts, one text each. Repeatable commands are run."""
    for part in PART.finditer(document.read_text("utf-8")):
        if part["digest"] != digest(part["body"]):
            yield (
                f"{document.name}: {part['command']}: without a date or edited by hand; "
                f"tools/tour.py {document.name} renews it"
            )
    for block in blocks(document):
        where = f"{document.name}: {block.commands[0] if block.commands else 'a block without a command'}"
        if not block.is_repeatable:
            if block.digest is None:
                yield f"{where}: no line below the block with its date; tools/tour.py {document.name} writes it"
            elif block.digest != digest(block.body):
                yield f"{where}: edited by hand; tools/tour.py {document.name} measures it again"
        elif (now := block.printed()) != block.body:
            change = difflib.unified_diff(block.body.splitlines(), now.splitlines(), "document", "printed", lineterm="")
            yield f"{where}: prints something else now; tools/tour.py {document.name} renews it\n" + "\n".join(change)


def renewed_part(match: re.Match[str]) -> str:
    command = match["command"]
    print(command, file=sys.stderr, flush=True)
    done = run(command)
    if done.returncode == SKIPPED:
        print(f"tour: left as it is: {command}", file=sys.stderr, flush=True)
        return match[0]
    body = output(done, command) + "\n"
    return f"<!-- printed by: {command} -->\n{provenance([command], body)}\n\n{body}<!-- end -->"


def renewed(block: Block) -> str:
    body = block.printed()
    return f"```console\n{body}```" + ("" if block.is_repeatable else "\n\n" + provenance(block.commands, body))


def provenance(commands: list[str], body: str) -> str:
    """The line below a block that holds for one machine on one day."""
    return f"*Made by `{'; '.join(commands)}` on {time.strftime('%Y-%m-%d')}; {machine()}; digest {digest(body)}.*"


def machine() -> str:
    """The machine's state: processor, cores, load and the share of CPU time that its host took."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE)
    ticks = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    steal = 100 * ticks[7] / sum(ticks[:8])
    load = os.getloadavg()[0]
    return (
        f"{model[1] if model else os.uname().machine}, {os.cpu_count()} cores, load {load:.1f}, "
        f"steal {steal:.1f} % since boot"
    )


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def figures(command: str) -> str:
    """A command's standard output. A command that fails ends the tool."""
    return output(run(command), command)


def run(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)


def output(done: subprocess.CompletedProcess[str], command: str) -> str:
    if done.returncode != 0:
        raise SystemExit(f"tour: failed: {command}")
    return done.stdout.strip()


def on_terminal(command: str, folder: Path) -> str:
    """A command's output in a folder on a plain terminal of a fixed width.

    A command that fails ends the tool.
    """
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        for name in ("COLUMNS", "LINES"):  # they would outrank the terminal's own size
            os.environ.pop(name, None)
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
