"""The goals of `compare` and `advise` by name, and what each counts.

Those of transfers are of goodput and delay under the loads of a link, those of applications of the
targets of a household on it; both are computed by `simulation.goals`.
"""

TRANSFER_GOALS = {
    "balanced": "goodput over the root of the p95 RTT of a sparse flow beside it, mean over the flows",
    "throughput": "the goodput of the flows together",
    "latency": "the p95 RTT of a sparse flow beside the flows",
    "fairness": "Jain's index of the goodputs, of a single flow with a cubic flow beside it",
}
"""The goals of transfers and what they are the ratio of."""
APP_GOALS = {
    "household": "the number of targets that are met, then the goodput of the download and the upload (geometric mean)",
    "call": "whether a call meets its target, then its MOS",
    "page": "whether a page meets its target, then its load time",
    "game": "whether a game meets its target, then the share of its answers in time",
}
"""The goals of a household's applications and what counts."""
GOALS = {**APP_GOALS, **TRANSFER_GOALS}
DEFAULT_OF_LINK, DEFAULT_OF_SCENARIO = "household", "balanced"
"""The goal of a link, whose default load is a household, and of flows that are given."""
