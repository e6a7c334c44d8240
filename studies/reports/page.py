"""`python -m studies.reports.page [FILE]`: public reports with a known answer, and what the program
answers, as Markdown. `make reports` writes it to docs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from studies.outcome_files import write_page
from studies.reports.cases import FILES, VERDICTS, Answered, answered, cases

HEAD = """# Public reports, answered

Reports about links and TCP from public trackers, whose answer is known, in our own words and with our own
[files](../../studies/reports/files). Written by `make reports`
([cases.toml](../../studies/reports/cases.toml)): it types the commands, and compares the figures of each answer with
the range that the known answer leaves. A figure outside makes the answer wrong."""
COUNT = "{right} of {all} are right, {partly} partly, {wrong} wrong; {cannot} cannot be expressed."


def page(done: Sequence[Answered]) -> str:
    """The page."""
    counts = Counter(one.verdict for one in done)
    right, partly, wrong, cannot = (counts[verdict] for verdict in VERDICTS)
    count = COUNT.format(right=right, all=len(done), partly=partly, wrong=wrong, cannot=cannot)
    lines = [*(_filled(part) for part in HEAD.split("\n\n")), _filled(count), _table(done), *map(_section, done)]
    return "\n\n".join(lines) + "\n"


def _table(done: Sequence[Answered]) -> str:
    rows = [f"| {', '.join(one.case.sources)} | {one.case.problem} | {one.verdict} |" for one in done]
    return "\n".join(["| report | problem | answer |", "|---|---|---|", *rows])


def _section(one: Answered) -> str:
    case = one.case
    parts = [f"## {', '.join(case.sources)}", case.problem, f"Known: {case.known}"]
    if case.commands:
        parts.append("\n".join(["```sh", *case.commands, "```"]))
    parts.append(f"{one.answer} **{one.verdict[0].upper()}{one.verdict[1:]}.** {case.reason}".rstrip())
    parts += [f"Outside: {miss}" for miss in one.misses]
    if case.renew:
        parts.append(f"To be answered again {case.renew}.")
    files = sorted(path.name for path in FILES.iterdir() if any(path.name in command for command in case.commands))
    parts += [", ".join(f"[{name}](../../studies/reports/files/{name})" for name in files)] if files else []
    return "\n\n".join(map(_filled, parts))


def _filled(part: str) -> str:
    if part.startswith(("#", "```", "[")):
        return part
    return fill(part, 100, break_on_hyphens=False, break_long_words=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    options = parser.parse_args()
    done = [answered(case) for case in cases()]
    write_page(options.file, page(done))
    for one in done:
        for miss in one.misses:
            sys.stderr.write(f"{', '.join(one.case.sources)}: {miss}\n")
    return int(any(one.misses for one in done))


if __name__ == "__main__":
    raise SystemExit(main())
