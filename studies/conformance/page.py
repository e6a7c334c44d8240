"""`python -m studies.conformance.page [FILE]`: packetdrill scripts against the engine, as Markdown.

`make conformance` writes it to docs. Without `ACKCLOCK_PACKETDRILL` the file keeps its part on
public suites.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from studies.conformance.suites import (
    HOST,
    UNEXPLAINED,
    VARIABLE,
    Row,
    Suite,
    causes,
    find,
    folders,
    own_rows,
    public_rows,
    public_suites,
    unlisted,
    unlisted_rows,
)

PUBLIC = "## Public suites"


def page(own: Sequence[Row], public: str) -> str:
    """The page: our own scripts, then the part on public suites."""
    others = sorted({row.host for row in own} - {HOST})
    hosts = f"`{HOST}`" + (
        " and, where a script names it, " + ", ".join(f"`{host}`" for host in others) if others else ""
    )
    return f"""# Conformance

Written by `make conformance` ([suites.py](../../studies/conformance/suites.py)): packetdrill scripts
against the engine ([packetdrill.md](../reference/packetdrill.md)). *Supported* scripts pass or fail; an
unsupported one says something that the engine does not have. The host file is the same for all
scripts; a script's own sysctls and socket options replace its keys.

## Own scripts

[tests/packetdrill](../../tests/packetdrill), against
{hosts}.

{totals(own)}

{table(own, hosts=bool(others))}

{public}"""


def public_part(
    suites: Sequence[Suite],
    reasons: Mapping[str, str],
    rows: Mapping[str, Sequence[Row]],
    found: Mapping[tuple[str, str], Path],
    others: Sequence[Row] = (),
) -> str:
    """The part on public suites: totals, a row per script, and what is left out.

    `found`: the file of each name; `others`: rows of the scripts that no suite names.
    """
    every = [row for suite in suites for row in rows[suite.key]]
    in_scope = sum(row.verdict != "absent" for row in every)
    left_out = len(found) - in_scope
    parts = [
        PUBLIC,
        "",
        f"Against `{HOST}`, unchanged. The scripts are not part of ackclock: `{VARIABLE}` names",
        "the folders that hold them, separated by `:`. [suites.toml](../../studies/conformance/suites.toml) has",
        "the names and categories, [causes.toml](../../studies/conformance/causes.toml) the causes. An absent",
        "script is in none of the folders, and counts nowhere; its row has the verdict of the last page",
        "that had one.",
        "",
        f"Scripts in the folders: {in_scope + left_out + len(others)}. In a table of their suite: {in_scope}. "
        f"[Left out](#left-out): {left_out}.",
        f"In the table of [others](#others): {len(others)}.",
        "",
        totals(every),
        "",
        _equal_dialogues(suites, rows),
    ]
    for suite in suites:
        parts += ["", f"### {suite.title}: {suite.path}", "", totals(rows[suite.key]), "", table(rows[suite.key])]
    parts += [
        "",
        "### Others",
        "",
        "Scripts that [suites.toml](../../studies/conformance/suites.toml) does not name.",
        "",
    ]
    parts += [totals(others), "", table(others)] if others else ["None."]
    parts += ["", "### Left out", "", "| suite | reason | scripts | found | names |", "|---|---|--:|--:|---|"]
    for suite in suites:
        for kind, names in suite.left_out.items():
            present = sum((suite.key, name) in found for name in names)
            parts.append(f"| {suite.key} | {reasons[kind]} | {len(names)} | {present} | {', '.join(names)} |")
    return "\n".join(parts) + "\n"


def verdicts_before(public: str) -> dict[str, dict[str, str]]:
    """The verdicts of an earlier part on public suites, by suite's title and script's name."""
    found: dict[str, dict[str, str]] = {}
    title = ""
    for line in public.splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ").partition(":")[0]
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        row = re.fullmatch(r"(?:absent, before: )?(passes|fails|unsupported)", cells[2]) if len(cells) == 4 else None
        if row:
            found.setdefault(title, {})[cells[0]] = row[1]
    return found


def totals(rows: Sequence[Row]) -> str:
    """Counts by category, and of all."""
    lines = ["| category | scripts | supported | pass | fail | unsupported |", "|---|--:|--:|--:|--:|--:|"]
    categories = sorted({row.category for row in rows})
    lines += [_counts(category, [row for row in rows if row.category == category]) for category in categories]
    return "\n".join([*lines, _counts("**all**", rows)])


def table(rows: Sequence[Row], *, hosts: bool = False) -> str:
    """A row per script."""
    host = " host |" if hosts else ""
    lines = [f"| script | category |{host} verdict | cause |", "|---|---|" + ("---|" if hosts else "") + "---|---|"]
    for row in rows:
        name = f" {row.host} |" if hosts else ""
        verdict = f"{row.verdict}, before: {row.before}" if row.before else row.verdict
        lines.append(f"| {row.name} | {row.category} |{name} {verdict} | {row.cause.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def _counts(name: str, rows: Sequence[Row]) -> str:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("passes", "fails", "unsupported")}
    supported = counts["passes"] + counts["fails"]
    present = supported + counts["unsupported"]

    def share(part: int, of: int) -> str:
        return f"{part} ({part / of:.0%})" if of else "-"

    return (
        f"| {name} | {present} | {share(supported, present)} | {share(counts['passes'], supported)} "
        f"| {counts['fails']} | {counts['unsupported']} |"
    )


def _equal_dialogues(suites: Sequence[Suite], rows: Mapping[str, Sequence[Row]]) -> str:
    """How many scripts repeat the dialogue of an earlier one, and the totals without them."""
    seen: set[str] = set()
    different: list[Row] = []
    for suite in suites:
        new = [row for row in rows[suite.key] if row.dialogue and row.dialogue not in seen]
        different += new
        seen |= {row.dialogue for row in new}
    present = sum(bool(row.dialogue) for suite in suites for row in rows[suite.key])
    supported = sum(row.verdict != "unsupported" for row in different)
    passing = sum(row.verdict == "passes" for row in different)
    again = present - len(different)
    return (
        f"{again} of the scripts {'repeats' if again == 1 else 'repeat'} the dialogue of an earlier one. Of the "
        f"{len(different)} different\ndialogues {supported} are supported, and {passing} of those pass."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    asked = parser.parse_args()
    before = asked.file.read_text("utf-8") if asked.file and asked.file.exists() else ""
    where = folders()
    if where:
        suites, reasons = public_suites()
        found = find(suites, where)
        why = causes()
        earlier = verdicts_before(before[before.find(PUBLIC) :] if PUBLIC in before else "")
        rows = {
            suite.key: public_rows(suite, found, why.get(suite.key, {}), earlier.get(suite.title, {}))
            for suite in suites
        }
        others = unlisted_rows(unlisted(where, found))
        public = public_part(suites, reasons, rows, found, others)
        for row in others:
            print(f"{row.name} is in no list of suites.toml", file=sys.stderr)
        for suite in suites:
            for row in rows[suite.key]:
                if row.cause == UNEXPLAINED:
                    print(f"{suite.key}/{row.name} fails without a cause in causes.toml", file=sys.stderr)
                elif row.verdict == "passes" and row.name in why.get(suite.key, {}):
                    print(f"{suite.key}/{row.name} passes: remove its cause from causes.toml", file=sys.stderr)
    else:
        kept = before.find(PUBLIC)
        public = before[kept:] if kept >= 0 else f"{PUBLIC}\n\n`{VARIABLE}` names no folder: they did not run.\n"
        print(
            f"{VARIABLE} is not set: the part on public suites {'stays' if kept >= 0 else 'is left out'}",
            file=sys.stderr,
        )
    text = page(own_rows(), public)
    if asked.file:
        asked.file.write_text(text, "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
