"""ns-2's scenario E: seven listed data packets are lost, the window is at most 150 segments, no
queue overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from studies.oracles.agreement import Check, Figure
from studies.oracles.ns2 import (
    FIRST_DATA_ACK_S,
    LINUX_BIC,
    LINUX_RENO,
    LINUX_VEGAS,
    NATIVE_NEWRENO,
    SEGMENT,
    Sender,
    Series,
    dumbbell,
    ns2_run,
    ns2_series,
    our_run,
    our_series,
)

LOST = [1500, 4000, 4001, 4002, 8000, 8150, 12000]
END_S = 20.0
WINDOW = 150
NEAR_A_CUT_S = 0.3
LATER_THAN_S = 3.0
CLOSE = 0.05

SENDERS = (LINUX_RENO, LINUX_BIC, LINUX_VEGAS, NATIVE_NEWRENO)
"""A new variant is a new row."""


def checks(oracles: Path) -> list[Check]:
    return [Check(f"E {sender.name}", partial(figures, sender, oracles)) for sender in SENDERS]


def figures(sender: Sender, oracles: Path) -> Sequence[Figure]:
    loss = {"kind": "list", "packets": LOST}
    window = f"{WINDOW * SEGMENT} B"
    # Longer than ns-2's run by the handshake: both sides are looked at for the same time after
    # their first data ACK.
    run = our_run(dumbbell(sender, 400, f"{END_S + 0.2} s", "1 ms", loss, receive_buffer=window))
    ours, flow = our_series(run), run.summaries[0]["flows"][0]
    oracle, counts = ns2_series(oracles, f"e_{sender.name}_droplist"), ns2_run(oracles, f"e_{sender.name}_droplist")
    shift = ours.first_ack() - FIRST_DATA_ACK_S
    case = f"E {sender.name}"
    last = oracle.time[-1]
    return [
        Figure(case, "retransmissions", flow["retransmitted_segments"], counts["rtx"], 0, "equal"),
        Figure(case, "timeouts", flow["timeouts"], counts["tmo"], 0, "equal"),
        Figure(case, "window cuts", flow["window_cuts"], counts["cuts"], 0, "equal"),
        Figure(
            case,
            "goodput",
            ours.goodput_bps(ours.first_ack(), last + shift) / 1e6,
            oracle.goodput_bps(FIRST_DATA_ACK_S, last) / 1e6,
            0.02,
            unit="Mb/s",
        ),
        Figure(case, f"cwnd samples within {CLOSE:.0%}", close_share(ours, oracle, shift), None, 0.9, "at least", "%"),
    ]


def close_share(ours: Series, oracle: Series, shift: float) -> float:
    """The share of ns-2's samples, those soon after the start and near a cut left out, to which our
    window is close.
    """
    cuts = [*oracle.cuts(), *(t - shift for t in ours.cuts())]
    close = []
    for t, cwnd in zip(oracle.time, oracle.cwnd, strict=True):
        if t > LATER_THAN_S and all(abs(t - cut) > NEAR_A_CUT_S for cut in cuts):
            mine = ours.cwnd[ours.at(t + shift)]
            close.append(abs(mine / cwnd - 1) <= CLOSE)
    return sum(close) / len(close)
