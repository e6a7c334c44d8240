"""Figures 2 to 5 of ``wibro``."""

from __future__ import annotations

from functools import partial

from ackclock.papers.drawing import Drawing
from ackclock.papers.experiments import Measure
from ackclock.papers.measures import Figures, at, goodput_mbps
from ackclock.papers.wibro.downloads import BUFFERS, rtt
from ackclock.statistics import Interval


def drawings(figures: Figures) -> list[Drawing]:
    """Figures 5a and 5b."""
    sizes = [float(scheme.split()[0]) for scheme in BUFFERS]
    spots = [at("tcp", scheme) for scheme in BUFFERS]

    def line(measure: Measure) -> list[tuple[float, Interval]]:
        return [(size, figures.mean(spot, measure)) for size, spot in zip(sizes, spots, strict=True)]

    axis = "socket buffers (KB)"
    rtts = {which: line(partial(rtt, which)) for which in ("p50", "p95")}
    return [
        Drawing("Figure 5a: one download, by socket buffer", "The paper: 1.5 Mb/s at 17 KB, 5 at 64, 10 from 128 on, and less above 512.",
                axis, "goodput (Mb/s)", {"ours": line(goodput_mbps)}, log_x=True),
        Drawing("Figure 5b: its round trips", "The paper: the median grows with the buffer, and varies very much at 1024 KB.",
                axis, "RTT (ms)", rtts, log_x=True),
    ]  # fmt: skip
