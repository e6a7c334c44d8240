"""Figures 2 to 5 and 7 to 9 of ``wimax-measured``; those over time and of section 5 are in
``traces``.
"""

from __future__ import annotations

from ackclock.papers.evaluators import ExperimentData, goodput_mbps, point
from ackclock.papers.experiments import Measure
from ackclock.papers.figure_data import PaperFigure, Point, level
from ackclock.papers.wimax_measured import traces
from ackclock.papers.wimax_measured.datagrams import RATES, goodput, loss
from ackclock.papers.wimax_measured.transfers import DOWN, UP, VARIANTS, retransmitted, rtt, spot

AUTO_KB = 128.0
"""The position of auto-tuning on the axis of buffers."""


def drawings(figures: ExperimentData) -> list[PaperFigure]:
    """The figures in the paper's order."""

    def lines(direction: str, measure: Measure) -> dict[str, list[Point]]:
        sizes = DOWN if direction == "down" else UP
        xs = [AUTO_KB if size == "auto" else float(size.split()[0]) for size in sizes]
        return {
            v: [(x, figures.mean(spot(direction, size, v), measure)) for x, size in zip(xs, sizes, strict=True)]
            for v in VARIANTS
        }

    def sent(measure: Measure) -> list[Point]:
        return [
            (float(rate.split()[0]) * 1470.0 / 1498.0 / 1e3, figures.mean(point("udp-down", rate=rate), measure))
            for rate in RATES
        ]

    def by_lights(direction: str) -> list[Point]:
        return [(float(n), figures.mean(point("ssi", direction, ssi=n), goodput)) for n in range(1, 6)]

    axis, auto = "socket buffers (KB)", {AUTO_KB: "auto"}
    drawn = [
        PaperFigure(
            "Figure 2: datagrams down",
            "The paper: throughput equals the sent rate up to 1.5 Mb/s (with 2.6 % lost), then is flat; loss rises.",
            "rate sent (Mb/s)",
            "throughput (Mb/s)",
            {"throughput": sent(goodput)},
            paper={"throughput at the limit": level(1.5, 1.5, 4.0)},
        ),
        PaperFigure(
            "Figure 2: loss of the datagrams down",
            "The paper: 2.6 % are lost at 1.5 Mb/s; above, the loss rises.",
            "rate sent (Mb/s)",
            "lost (%)",
            {"lost": sent(loss)},
            paper={"lost at the limit": [(1.5, 2.6)]},
        ),
        PaperFigure(
            "Figure 3: datagrams by signal",
            "The paper: full rate from 2 lights in the downlink (78 % at 1), from 3 lights in the uplink (88 % below).",
            "SSI (lights)",
            "throughput (Mb/s)",
            {"down": by_lights("down"), "up": by_lights("up")},
            paper={
                "down": [(1.0, 0.78 * 1.5), *level(1.5, 2.0, 5.0)],
                "up": [*level(0.88 * 0.256, 1.0, 2.0), *level(0.256, 3.0, 5.0)],
            },
        ),
        PaperFigure(
            "Figure 4: downloads by buffer",
            "The paper: the window limits up to 32 KB; 64 KB and auto fill 1.5 Mb/s.",
            axis,
            "throughput (Mb/s)",
            lines("down", goodput_mbps),
            log_x=True,
            ticks=auto,
        ),
        PaperFigure(
            "Figure 5: RTT of the downloads",
            "The paper: equal for all variants at a buffer, at least 120 ms.",
            axis,
            "mean RTT (ms)",
            lines("down", rtt("mean")),
            log_x=True,
            ticks=auto,
        ),
        PaperFigure(
            "Figure 7: retransmissions",
            "The paper: rises with the buffer, near 3 % for CUBIC with auto-tuning; Vegas has the minimum.",
            axis,
            "retransmitted (%)",
            lines("down", retransmitted),
            log_x=True,
            ticks=auto,
            paper={"CUBIC, auto": [(AUTO_KB, 3.0)]},
        ),
        PaperFigure(
            "Figure 8: uploads by buffer",
            "The paper: rises with the buffer; Veno best at 32 KB and auto.",
            axis,
            "throughput (Mb/s)",
            lines("up", goodput_mbps),
            log_x=True,
            ticks=auto,
        ),
        PaperFigure(
            "Figure 9: RTT of the uploads",
            "The paper: 200 to 300 ms on average, independent of the buffer.",
            axis,
            "mean RTT (ms)",
            lines("up", rtt("mean")),
            log_x=True,
            ticks=auto,
            paper={"minimum of the means": level(200.0, 8.0, 128.0), "maximum": level(300.0, 8.0, 128.0)},
        ),
    ]
    drawn += [*traces.transfers(figures), *traces.concurrency(figures), *traces.campus(figures)]
    return sorted(drawn, key=lambda figure: int(figure.title.split(":")[0].removeprefix("Figure ")))
