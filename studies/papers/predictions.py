"""`python -m studies.papers.predictions`: the commits that the experiments of causes were predicted
in, by git.

An experiment of ``readings.toml`` is a prediction if the commit in its ``predicted`` has it, word
for word, before any of its outcomes stood in ``causes.csv``. The command renews commits and dates
of every ``predicted`` after a rebase; write ``predicted = {}`` for a new one. Status 1 if an
experiment is no prediction.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ackclock.papers.claims import PAPERS, expand_ids
from ackclock.papers.readings import readings_file
from studies.papers.outcomes import SOURCES

ROOT = SOURCES.parents[1]
Experiment = Mapping[str, Any]
"""The table of an experiment, with the claims and the text of its cause."""


def _folder(paper: str) -> Path:
    return (SOURCES / "papers" / paper.replace("-", "_")).relative_to(ROOT)


def git(*arguments: str) -> str | None:
    """What git prints in this repository; None where it fails."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def has_history() -> bool:
    """Whether this is a git repository with all its commits."""
    return git("rev-parse", "--is-shallow-repository") == "false\n"


def experiments(file: Mapping[str, Any]) -> Iterator[Experiment]:
    """The experiments of a ``readings.toml``."""
    for cause in file.get("cause", ()):
        for table in cause["experiment"]:
            yield {"claims": cause["claims"], "cause": cause["text"], **table}


def _stood(paper: str, commit: str, experiment: Experiment) -> bool:
    """Whether a commit has an experiment word for word and none of its outcomes."""
    folder = _folder(paper)
    text = git("show", f"{commit}:{folder / 'readings.toml'}")
    expected = {key: value for key, value in experiment.items() if key != "predicted"}
    if text is None or not any(each == expected for each in experiments(tomllib.loads(text))):
        return False
    rows = csv.DictReader((git("show", f"{commit}:{folder / 'causes.csv'}") or "").splitlines())
    claims = expand_ids(experiment["claims"])
    return not any(row["experiment"] == experiment["name"] and row["claim"] in claims for row in rows)


def problem(paper: str, experiment: Experiment) -> str:
    """Why an experiment with ``predicted`` is no prediction; "" if it is one."""
    commit, date = experiment["predicted"].get("commit", ""), experiment["predicted"].get("date", "")
    if not commit or git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return f"no commit {commit!r} before this one"
    if (dated := (git("log", "-1", "--format=%cs", commit) or "").strip()) != date:
        return f"commit {commit} is of {dated}, not {date}"
    if not _stood(paper, commit, experiment):
        return f"commit {commit} does not have the experiment as it stands, without its outcome"
    return ""


def problems(paper: str) -> list[str]:
    """The experiments of a paper that are said to be predictions and are none, with the reason."""
    return [
        f"{each['name']}: {why}"
        for each in experiments(readings_file(paper))
        if "predicted" in each and (why := problem(paper, each))
    ]


def first_commit(paper: str, experiment: Experiment) -> tuple[str, str] | None:
    """The first commit that predicts an experiment, with its date; None without one."""
    log = git("log", "--reverse", "--abbrev=10", "--format=%h %cs", "--", str(_folder(paper) / "readings.toml"))
    for line in (log or "").splitlines():
        commit, date = line.split()
        if _stood(paper, commit, experiment):
            return commit, date
    return None


def renew(paper: str) -> None:
    """Write the commit and the date into each ``predicted`` of a paper's ``readings.toml``."""
    place = ROOT / _folder(paper) / "readings.toml"
    text = place.read_text("utf-8")
    head, *parts = re.split(r"(?=^\[\[cause\.experiment\]\]$)", text, flags=re.MULTILINE)
    for at, each in enumerate(experiments(tomllib.loads(text))):
        if "predicted" in each and (found := first_commit(paper, each)):
            line = f'predicted = {{ commit = "{found[0]}", date = "{found[1]}" }}'
            parts[at] = re.sub(r"^predicted = .*$", line, parts[at], flags=re.MULTILINE)
    place.write_text("".join([head, *parts]), "utf-8")


def main() -> int:
    """Renew all papers' predictions."""
    for paper in PAPERS:
        renew(paper)
    readings_file.cache_clear()
    found = [f"{paper}: {each}" for paper in PAPERS for each in problems(paper)]
    for each in found:
        print(each, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
