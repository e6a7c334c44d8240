"""Links fitted to one download, and what they predict beside the links that made it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import fmean
from typing import Any

import ackclock
from ackclock.documents.fit import FittedParameter
from ackclock.fitting.evidence import METHODS
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
RANDOM = {"loss", "jitter", "reorder", "handover", "medium"}
"""Keys of a hop with random numbers. A recorded rate starts at a random time."""
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
    parameters: Sequence[FittedParameter]
    """`parameters` of the fit's document."""
    fit_s: float = 0.0
    """Time of the fit to both ends."""
    seconds: float = 0.0
    """With the input, the predictions and the truth."""
    cells: Sequence[Cell] = field(default=())
    one_end: Sequence[Cell] = field(default=())
    """Predictions of a fit to the capture of the server's end alone; none for most links."""

    def rows(self) -> dict[str, FittedParameter]:
        """The fit's parameters by path after ``hop.access.``."""
        return {row["path"].removeprefix("hop.access."): row for row in self.parameters}

    def shows_uplink(self) -> bool:
        """The input shows the rate of the uplink: identified, or that of one link by lengths."""
        row = self.rows().get("rate.up")
        return row is not None and (row["status"] == "identified" or row["method"] == METHODS["size"])

    def kept(self) -> dict[str, Any]:
        """All but the link, as JSON; `restored` reverts it."""
        return {**{key: value for key, value in asdict(self).items() if key != "link"}, "number": self.link.number}

    @staticmethod
    def restored(kept: Mapping[str, Any], links: Mapping[int, TrueLink]) -> FittedLink:
        """The link of `links` with this number, and what was kept of its fit."""
        cells = {name: [Cell(**cell) for cell in kept[name]] for name in ("cells", "one_end")}
        return FittedLink(links[kept["number"]], kept["parameters"], kept["fit_s"], kept["seconds"], **cells)

    def coverage(self) -> list[tuple[str, FittedParameter | None, float, bool]]:
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
    started = time.monotonic()
    flows = [{"name": "download", "workload": {"kind": "bulk"}}, *link.cross]
    ackclock.simulate({"hop": link.hops}, flows, DURATION, seed=INPUT_SEED, out=folder, captures="pcapng", sample="0 s")
    captures = [folder / "captures" / f"download.{end}.pcapng" for end in ("server", "client")]
    simulated = time.monotonic()
    fit = ackclock.fit(*captures, score=False)
    fit_s = time.monotonic() - simulated
    parameters = fit.document["parameters"]
    if not predict:
        return FittedLink(link, parameters, fit_s, time.monotonic() - started)
    seen = Ends(str(captures[0]), str(captures[1])).transfers()
    assert seen is not None
    naive = naive_link(seen.observed).to_dict()
    fits = {"two ends": fit.document["link"], "naive": naive}
    if link.number % ONE_END_EVERY == 1:
        fits["one end"] = ackclock.fit(captures[0]).document["link"]
    both = [_cells(link, fits, *held_out) for held_out in HELD_OUT]
    one_end = [cell["one end"] for cell in both if "one end" in cell and cell["one end"].direction == "down"]
    return FittedLink(link, parameters, fit_s, time.monotonic() - started, [cell["two ends"] for cell in both], one_end)


@dataclass(frozen=True)
class Outcome:
    """Means over the unseen seeds."""

    goodput_bps: float
    rtt_p95_ms: float
    utilization: float


def is_random(hop: Mapping[str, Any]) -> bool:
    """Seeds of the hop differ."""
    rate = hop.get("rate")
    recorded = [one for one in (rate.values() if isinstance(rate, Mapping) else ()) if isinstance(one, Mapping)]
    return bool(recorded or hop.keys() & RANDOM)


def outcome(
    hops: Sequence[Mapping[str, Any]], cross: Sequence[Mapping[str, Any]], direction: str, variant: str, buffer: str
) -> Outcome:
    """A bulk flow over the hops beside `cross`: of seeds of a link without anything random, two."""
    flow = {"name": "flow", "direction": direction, "workload": {"kind": "bulk"}}
    buffers = {"send_buffer": buffer, "receive_buffer": buffer}

    def of(seeds: Sequence[int]) -> list[Outcome]:
        run = ackclock.simulate(
            {"hop": list(hops)},
            [flow, *cross],
            DURATION,
            seeds=seeds,
            tcp={"variant": variant, **buffers},
            sample="0 s",
        )
        used = [max(h["utilization"] for h in s["hops"] if h["direction"] == direction) for s in run.summaries]
        flows = [summary["flows"][0] for summary in run.summaries]
        return [Outcome(f["goodput_bps"], f["rtt_ms"]["p95"] or 0.0, u) for f, u in zip(flows, used, strict=True)]

    each = of(UNSEEN[:2])
    if cross or any(map(is_random, hops)) or each[0] != each[1]:
        each += of(UNSEEN[2:])
    return Outcome(*(fmean(getattr(one, name.name) for one in each) for name in fields(Outcome)))


def _cells(link: TrueLink, fits: Mapping[str, Mapping[str, Any]], *held_out: str) -> dict[str, Cell]:
    """The prediction of each fit."""
    direction, variant, buffer = held_out
    truth = outcome(link.hops, link.cross, *held_out)
    errors = {}
    for name, fit in fits.items():
        predicted = outcome(fit["hop"], (), *held_out)
        errors[name] = predicted.goodput_bps / truth.goodput_bps - 1, predicted.rtt_p95_ms / truth.rtt_p95_ms - 1
    naive = errors.pop("naive")
    is_full = truth.utilization >= FULL
    return {name: Cell(direction, variant, buffer, *error, *naive, is_full=is_full) for name, error in errors.items()}
