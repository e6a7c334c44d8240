"""Evaluators for ``wimax-simulated``: five TCP schemes over simulated 802.16 and 802.11b networks,
and BIAD beside them.
"""

from __future__ import annotations

from ackclock import closed_forms
from ackclock.papers.evaluators import ExperimentData, computed_number
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import Experiments
from ackclock.papers.wimax_simulated import overall, scenario3, single, wifi

CHANNEL_HZ, PREFIX, FRAME_S, GAPS_S = 7e6, 1 / 16, 5e-3, 10e-6


def arithmetic_evaluators() -> dict[str, Evaluate]:
    """Consequences of the standard and of the paper's Table 1."""
    symbol = closed_forms.ofdm_symbol_s(CHANNEL_HZ, PREFIX)
    ratios = {
        f"P3-{18 + down:03d}": computed_number(closed_forms.downlink_fraction(down, 1), f"{down} / ({down} + 1)")
        for down in range(1, 7)
    }
    return {
        "P3-016": computed_number(
            symbol * 1e6, "256-point FFT at 8/7 of the channel width, and a cyclic prefix of 1/16, in us"
        ),
        "P3-017": computed_number(
            closed_forms.ofdm_symbols(FRAME_S, symbol, GAPS_S), "symbols beside two gaps of 5 us"
        ),
        "P3-018": computed_number(closed_forms.ofdm_symbol_bytes(6, 3 / 4), "192 carriers of 6 bits, 3/4 of them data"),
        **ratios,
    }


def evaluators(runs: Experiments) -> dict[str, Evaluate]:
    """Claim id to evaluator; an experiment runs only when a claim needs it."""
    figures = ExperimentData(runs)
    parts = (single, scenario3, wifi, overall)
    return {
        **arithmetic_evaluators(),
        **{claim: found for part in parts for claim, found in part.evaluators(figures).items()},
    }
