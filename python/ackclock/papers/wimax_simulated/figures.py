"""Figures 4 to 16 of ``wimax-simulated``, with BIAD in each."""

from __future__ import annotations

from collections.abc import Mapping

from ackclock.papers.evaluators import ExperimentData, ExperimentPoint, fairness, goodput_mbps, point
from ackclock.papers.figure_data import PaperFigure, over
from ackclock.papers.wimax_simulated import scenario3, traces, wifi
from ackclock.papers.wimax_simulated.single import FIVE, LOW, QUEUES, RATES, RATES2, scenario1, scenario2
from ackclock.statistics import Interval

SIX = (*FIVE, "BIAD")
PER, GOODPUT, QUEUE, SPLIT = (
    "packet error rate",
    "goodput (Mb/s)",
    "queue of the bottleneck (packets)",
    "share of the downlink",
)
WIFI_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1)


def drawings(figures: ExperimentData) -> list[PaperFigure]:
    """The figures in the paper's order."""

    def goodput(spot: ExperimentPoint) -> Interval:
        return figures.mean(spot, goodput_mbps)

    def above(spot: ExperimentPoint, x: float, gains: Mapping[str, float]) -> dict[str, list[tuple[float, float]]]:
        """The paper's gains over New Reno, applied to our goodput: the text has no goodput."""
        base = goodput(spot.of("New Reno")).mean
        return {f"{scheme} {gain:+.0f} %": [(x, base * (1.0 + gain / 100.0))] for scheme, gain in gains.items()}

    def fair(spot: ExperimentPoint) -> Interval:
        return figures.mean(spot, fairness)

    shares = [float(split.split(":")[0]) / (float(split.split(":")[0]) + 1.0) for split in scenario3.RATIOS]
    splits = [scenario3.ratio("", split) for split in scenario3.RATIOS]
    requests = [scenario3.ratio("", split, "requests only") for split in scenario3.RATIOS]
    errors = [scenario3.errors("", rate) for rate in scenario3.RATES]
    queues = [point("queues", packets=packets) for packets in QUEUES]
    wifi_queues = [point("wifi-queues", packets=packets) for packets in QUEUES]
    four = (*scenario3.THREE, "BIAD")
    return [
        PaperFigure(
            "Figure 4: scenario 1",
            "The paper: Westwood 96 % and BIC 18 % above New Reno at 0.001; Vegas and Veno below "
            "New Reno at high error rates.",
            PER,
            GOODPUT,
            over([scenario1("", r) for r in RATES], RATES, (*SIX, "Westwood+", "Westwood (ns-2)"), goodput),
            True,
            paper=above(scenario1("", LOW), LOW, {"Westwood": 96.0, "BIC": 18.0}),
        ),
        *traces.drawings(figures),
        PaperFigure(
            "Figure 7: scenario 2",
            "The paper: below scenario 1; Westwood +108 % and BIC +10 % at 0.001, Westwood's gain gone above 0.005.",
            PER,
            GOODPUT,
            over([scenario2("", r) for r in RATES2], RATES2, SIX, goodput),
            True,
            paper=above(scenario2("", LOW), LOW, {"Westwood": 108.0, "BIC": 10.0}),
        ),
        PaperFigure(
            "Figure 8: scenario 2, the bottleneck's queue",
            "The paper: Westwood best, with a peak near 80 packets; then BIC; Veno and Vegas poor.",
            QUEUE,
            GOODPUT,
            over(queues, QUEUES, SIX, goodput),
        ),
        PaperFigure(
            "Figure 10: scenario 3, 3:1",
            "The paper: Westwood +58 % and BIC +54 % per connection at 0.0001; Veno and Vegas below New Reno.",
            PER,
            "goodput of each of six (Mb/s)",
            over(errors, scenario3.RATES, SIX, goodput),
            True,
            paper=above(scenario3.errors("", 1e-4), 1e-4, {"Westwood": 58.0, "BIC": 54.0}),
        ),
        PaperFigure(
            "Figure 11: scenario 3, fairness",
            "The paper: near 1 up to an error rate of 1 %, low above 5 %.",
            PER,
            "Jain's index",
            over(errors, scenario3.RATES, SIX, fair),
            True,
        ),
        PaperFigure(
            "Figure 12: scenario 3, the split of the frame",
            "The paper: +20 % from 1:1 to 2:1, then slower, as ACKs are delayed or lost; BIC best "
            "at 6:1. Ours includes contention slots for ranging: at 6:1 two symbols per frame "
            "remain for ACKs.",
            SPLIT,
            "goodput of each of six (Mb/s)",
            over(splits, shares, four, goodput),
        ),
        PaperFigure(
            "Figure 12 again: contention for requests only",
            "With ten symbols for ACKs at 6:1 no ACK is dropped: the number of uplink symbols is the cause.",
            SPLIT,
            "goodput of each of six (Mb/s)",
            over(requests, shares, four, goodput),
        ),
        PaperFigure(
            "The ACKs behind Figure 12",
            "Share of the ACKs of six transfers by each variant that the stations' queues of 50 packets drop.",
            SPLIT,
            "share of ACKs dropped",
            over(splits, shares, four, lambda spot: figures.mean(spot, scenario3.ACKS["share of ACKs dropped"])),
        ),
        PaperFigure(
            "Figure 13: scenario 3, fairness over the split",
            "The paper: Westwood fluctuates at high splits.",
            SPLIT,
            "Jain's index",
            over(splits, shares, four, fair),
        ),
        PaperFigure(
            "Figure 14: 802.11b, scenario 1",
            "The paper: equal at low error rates; from 0.01 to 0.1 Westwood +35 % and BIC +9 %.",
            PER,
            GOODPUT,
            over([wifi.first("", r) for r in WIFI_RATES], WIFI_RATES, SIX, goodput),
            True,
        ),
        PaperFigure(
            "Figure 15: 802.11b, scenario 2",
            "The paper: the congested link hurts Reno, Vegas and Veno; Westwood and BIC keep their goodput up to 0.01.",
            PER,
            GOODPUT,
            over([point("wifi2", mean=r) for r in RATES2], RATES2, SIX, goodput),
            True,
        ),
        PaperFigure(
            "Figure 16: 802.11b, the bottleneck's queue",
            "The paper: Westwood and BIC high, Vegas and Veno low.",
            QUEUE,
            GOODPUT,
            over(wifi_queues, QUEUES, SIX, goodput),
        ),
    ]
