"""Run the commands of the guides as a reader would, and compare or renew the output that they show.

Standard library only. Each page runs in an empty folder of its own, from its first block to its
last, so later commands find the files of earlier ones:

- a block "```{code-block} toml" (or python) with `:caption: NAME` is a file that the reader writes;
- a block "```{code-block} console" has lines `$ COMMAND`, each with its standard output below. With
  `:class: varies` the output is that of real traffic or of one machine: the command must succeed,
  and its output is not compared.

Commands that need what a machine lacks are left out with a line: pages name it in a first line
`<!-- needs: namespaces iperf3 -->`.

usage: guides.py [--update] [--wheel FILE] [PAGE ...]    (default: docs/start/, docs/guides/)
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = "100"
BLOCK = re.compile(
    r"^```\{code-block\} (?P<kind>\w+)\n(?P<options>(?::[^\n]*\n)*)\n?(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
NEEDS = re.compile(r"\A<!-- needs: (?P<names>[^\n]*) -->")


@dataclass
class Outcome:
    """What the commands of one page gave."""

    page: Path
    seconds: float = 0.0
    commands: int = 0
    faults: list[str] = field(default_factory=list)
    left_out: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--update", action="store_true", help="write the present output into the pages")
    parser.add_argument("--wheel", type=Path, help="run them in a new environment with this wheel alone")
    args = parser.parse_args()
    pages = args.pages or [*sorted(ROOT.glob("docs/start/*.md")), *sorted(ROOT.glob("docs/guides/*.md"))]
    with tempfile.TemporaryDirectory(prefix="guides-") as scratch:
        programs = environment_of(args.wheel, Path(scratch)) if args.wheel else Path(sys.executable).parent
        outcomes = [run_page(page, programs, Path(scratch) / page.stem, args.update) for page in pages]
    for outcome in outcomes:
        if outcome.commands or outcome.left_out:
            what = f"left out: {outcome.left_out}" if outcome.left_out else f"{outcome.commands:3} commands"
            print(f"{outcome.page.stem:24} {what}  {outcome.seconds:6.1f} s")
        print("\n".join(outcome.faults), end="\n" if outcome.faults else "", file=sys.stderr)
    print(f"{sum(one.commands for one in outcomes)} commands, {sum(one.seconds for one in outcomes):.1f} s")
    return 1 if any(outcome.faults for outcome in outcomes) else 0


def environment_of(wheel: Path, scratch: Path) -> Path:
    """The programs of a new environment that has the wheel and what it needs, and nothing else."""
    venv = scratch / "bare"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", f"{wheel.resolve()}[report]"], check=True)
    return venv / "bin"


def run_page(page: Path, programs: Path, folder: Path, update: bool) -> Outcome:
    """Run a page's blocks in order."""
    outcome = Outcome(page)
    text = page.read_text("utf-8")
    if missing := [name for name in needed(text) if not present(name)]:
        outcome.left_out = f"needs {', '.join(missing)}"
        return outcome
    folder.mkdir(parents=True)

    def renew(match: re.Match[str]) -> str:
        options = dict(re.findall(r"^:([a-z]+): *(.*)$", match["options"], re.MULTILINE))
        if match["kind"] != "console":
            if "caption" in options:
                (folder / options["caption"]).write_text(match["body"], "utf-8")
            return match[0]
        body = run_block(match["body"], programs, folder, outcome)
        varies = options.get("class") == "varies"
        if not varies and body != match["body"] and not update:
            difference = difflib.unified_diff(
                match["body"].splitlines(), body.splitlines(), "page", "output", "", "", 1
            )
            outcome.faults.append(f"{page}: the output differs\n" + "\n".join(difference))
        return match[0].replace(match["body"], body)

    renewed = BLOCK.sub(renew, text)
    if update and not outcome.faults:
        page.write_text(renewed, "utf-8")
    return outcome


def run_block(body: str, programs: Path, folder: Path, outcome: Outcome) -> str:
    """A block with the present output of its commands."""
    lines = []
    for command in re.findall(r"^\$ (.*(?:\\\n.*)*)$", body, re.MULTILINE):
        begin = time.monotonic()
        environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "COLUMNS": COLUMNS,
            "NO_COLOR": "1",
            "PYTHONPATH": "",
        }
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900
        )
        outcome.seconds += time.monotonic() - begin
        outcome.commands += 1
        if done.returncode != 0:
            outcome.faults.append(
                f"{outcome.page}: {command} ends with status {done.returncode}\n{done.stderr[-2000:]}"
            )
        output = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
        lines += [f"$ {command}", *([output] if output else []), ""]
    return "\n".join(lines).strip() + "\n"


def needed(text: str) -> list[str]:
    """The names in a page's first line."""
    found = NEEDS.match(text)
    return found["names"].split() if found else []


def present(name: str) -> bool:
    """Whether the machine has a program, or allows network namespaces."""
    if name != "namespaces":
        return shutil.which(name) is not None
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
