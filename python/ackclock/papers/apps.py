"""``reproduce wimax-measured --apps``: what the paper leaves for later work, calls and streaming
over its links, as the simulator has them: alone, beside a download, beside an upload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ackclock.errors import InputError
from ackclock.notebook import Progress
from ackclock.simulation.apps import felt

AppKind = Literal["call", "video"]

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.documents.reproduce import PaperApp, PaperApps

PAPER = "wimax-measured"
LINKS = ("expedience-residential", "expedience-residential-july", "expedience-campus", "expedience-campus-hour")
APPS: Mapping[AppKind, Mapping[str, Any]] = {"call": {"kind": "call"}, "video": {"kind": "video"}}
LOADS: Mapping[str, Sequence[str]] = {
    "alone": (),
    "beside a download": ("down",),
    "beside an upload": ("up",),
}
"""Directions of bulk transfers from 10 s on."""
SEEDS = (1, 2, 3)
DURATION, WINDOW = "60 s", ("10 s", "60 s")


@dataclass(frozen=True)
class _Case:
    link: str
    load: str
    app: AppKind

    def scenario(self) -> dict[str, Any]:
        bulk = [
            {"name": direction, "direction": direction, "workload": {"kind": "bulk"}, "start": WINDOW[0]}
            for direction in LOADS[self.load]
        ]
        flows = [{"name": self.app, "workload": dict(APPS[self.app])}, *bulk]
        return {"link": self.link, "flow": flows, "duration": DURATION, "measure": {"window": list(WINDOW)}}


def paper_apps(paper: str | None, seeds: Sequence[int] | None = None, progress: Progress | None = None) -> PaperApps:
    """The applications on the paper's links, over ``seeds``.

    Raises InputError for another paper.
    """
    from ackclock.input.scenario.draft import draft_of
    from ackclock.simulation.run import simulate_scenario

    if paper != PAPER:
        raise InputError.problem(
            f"--apps is for {PAPER}, which leaves calls and streaming for later", f"name {PAPER}", option="--apps"
        )
    cases = [_Case(link, load, app) for link in LINKS for load in LOADS for app in APPS]
    rows: list[PaperApp] = []
    if progress:
        progress(0, len(cases), "")
    for number, case in enumerate(cases):
        done = simulate_scenario(draft_of({**case.scenario(), "seeds": list(seeds or SEEDS)}).check())
        ((_, _, sentence),) = felt(done.summaries)
        scores: list[Any] = [summary["flows"][0]["app"]["score"] for summary in done.summaries]
        rows.append({"link": case.link, "load": case.load, "app": case.app, "sentence": sentence, "scores": scores})
        if progress:
            progress(number + 1, len(cases), f"{case.app} {case.load}, {case.link}")
    return {
        "paper": PAPER,
        "seeds": list(seeds or SEEDS),
        "apps": rows,
    }


def apps_tables(document: PaperApps) -> list[Table]:
    """A row for each link and load."""
    from ackclock.terminal import text_table

    several = "; in parentheses the 95 % interval" if len(document["seeds"]) > 1 else ""
    table = text_table(
        f"What {document['paper']} leaves for later{several}", ["link", "", "load", "what people feel"], []
    )
    for row in document["apps"]:
        table.add_row(row["link"], row["app"], row["load"], row["sentence"])
    return [table]
