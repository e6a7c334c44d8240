"""Links fitted to one download, and what they predict beside the links that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import ackclock
from ackclock.fitting.prediction import Ends, naive_link
from studies.fit.links import TrueLink

DURATION = "30 s"
INPUT_SEED = 1
UNSEEN = tuple(range(101, 111))
"""Seeds of truth and prediction, of which the input has none."""
HELD_OUT = (
    *(("down", variant, buffer) for variant in ("reno", "bbr", "vegas") for buffer in ("64 KiB", "auto")),
    ("up", "cubic", "auto"),
)
"""Direction, variant and socket buffers of what is predicted."""
ONE_END_EVERY = 8
"""Every such link is fitted to one end as well."""
FULL = 0.95
"""Utilization of the bottleneck from which on a cell shows little beside the rate."""


@dataclass(frozen=True)
class Cell:
    """One prediction: relative errors of goodput and p95 RTT, of the fit and of the naive one."""

    direction: str
    variant: str
    buffer: str
    goodput_error: float
    rtt_error: float
    naive_goodput_error: float
    naive_rtt_error: float
    is_full: bool


@dataclass(frozen=True)
class FittedLink:
    """A link with its fit and the predictions."""

    link: TrueLink
    document: dict[str, Any]
    cells: Sequence[Cell] = field(default=())
    one_end: Sequence[Cell] = field(default=())
    """Predictions of a fit to the capture of the server's end alone; none for most links."""

    def rows(self) -> dict[str, dict[str, Any]]:
        """The fit's parameters by path after ``hop.access.``."""
        return {row["path"].removeprefix("hop.access."): row for row in self.document["parameters"]}

    def coverage(self) -> list[tuple[str, dict[str, Any] | None, float, bool]]:
        """For each true parameter: path, the fit's row (None without one), the truth, and whether
        an identified interval contains it.
        """
        rows = self.rows()
        found = []
        for path, truth in self.link.truth.items():
            row = rows.get(path)
            covers = row is not None and row["status"] == "identified" and row["lo"] <= truth <= row["hi"]
            found.append((path, row, truth, covers))
        return found


def fitted(link: TrueLink, folder: Path, *, predict: bool = True) -> FittedLink:
    """The input's captures in `folder`, the fit to them, and its predictions."""
    flows = [{"name": "download", "workload": {"kind": "bulk"}}, *link.cross]
    ackclock.simulate({"hop": link.hops}, flows, DURATION, seed=INPUT_SEED, out=folder, captures="pcapng", sample="0 s")
    captures = [folder / "captures" / f"download.{end}.pcapng" for end in ("server", "client")]
    fit = ackclock.fit(*captures, score=False)
    if not predict:
        return FittedLink(link, fit.document)
    seen = Ends(str(captures[0]), str(captures[1])).transfers()
    assert seen is not None
    naive = naive_link(seen.observed.goodput_bps, seen.min_rtt_ms)
    fits = {"two ends": fit.document["link"], "naive": naive}
    if link.number % ONE_END_EVERY == 1:
        fits["one end"] = ackclock.fit(captures[0]).document["link"]
    both = [_cells(link, fits, *held_out) for held_out in HELD_OUT]
    one_end = [cell["one end"] for cell in both if "one end" in cell and cell["one end"].direction == "down"]
    return FittedLink(link, fit.document, [cell["two ends"] for cell in both], one_end)


def _cells(link: TrueLink, fits: Mapping[str, Mapping[str, Any]], *held_out: str) -> dict[str, Cell]:
    """The prediction of each fit."""
    direction, variant, buffer = held_out

    def outcome(hops: Sequence[Mapping[str, Any]], cross: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
        flow = {"name": "flow", "direction": direction, "workload": {"kind": "bulk"}}
        buffers = {"send_buffer": buffer, "receive_buffer": buffer}
        run = ackclock.simulate(
            {"hop": list(hops)},
            [flow, *cross],
            DURATION,
            seeds=UNSEEN,
            tcp={"variant": variant, **buffers},
            sample="0 s",
        )
        of = [summary["flows"][0] for summary in run.summaries]
        used = [max(h["utilization"] for h in s["hops"] if h["direction"] == direction) for s in run.summaries]
        return fmean(f["goodput_bps"] for f in of), fmean(f["rtt_ms"]["p95"] or 0.0 for f in of), fmean(used)

    goodput, rtt, used = outcome(link.hops, link.cross)
    errors = {}
    for name, fit in fits.items():
        predicted = outcome(fit["hop"], ())
        errors[name] = predicted[0] / goodput - 1, predicted[1] / rtt - 1
    naive = errors.pop("naive")
    return {
        name: Cell(direction, variant, buffer, error[0], error[1], naive[0], naive[1], used >= FULL)
        for name, error in errors.items()
    }
