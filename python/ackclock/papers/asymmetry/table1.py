"""Evaluators for Table 1 of ``asymmetry``: one 50 s transfer over four return paths, and section
4.4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ackclock import closed_forms
from ackclock.papers.claims import Claim
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.experiments import ExperimentRuns, Experiments, hop_of, total_mbps
from ackclock.papers.ns2 import ns2_values
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval

PATHS: dict[str, tuple[str, str]] = {
    "9.6": ("9.6 kb/s", "none"),
    "9.6 C": ("9.6 kb/s", "cslip"),
    "28.8": ("28.8 kb/s", "none"),
    "28.8 C": ("28.8 kb/s", "cslip"),
}
"""The return paths as the paper prints them: rate and framing ("C" with header compression)."""
SCHEMES = ("Reno", "Reno+ACC", "Reno+AF")
CELLS: dict[str, tuple[str, str]] = {
    f"P1-{18 + 3 * row + column:03d}": (scheme, path)
    for row, path in enumerate(PATHS)
    for column, scheme in enumerate(SCHEMES)
}
"""Claim to cell."""
TIE = 0.02
PAPER = "paper"
"""The network compared with the paper: its routers' queues, and hosts without a limit."""
NS2_NETWORKS = ("V1", "V2")
"""The networks on which ns-2 was run: its script limits the sending hosts' queues."""

_WHY = {
    "Reno": "ns-2's 10-packet queues hold 9 packets, which explains most of the difference from ns-2",
    "Reno+ACC": (
        "the thinning of ACKs depends on RED's thresholds, which the paper does not have; these "
        "are those of the authors' script"
    ),
    "Reno+AF": "the filter leaves at most one ACK in the queue, so the window is sent at the rate cwnd/srtt",
}


def mbps(table: ExperimentRuns, network: str, scheme: str, path: str) -> Interval:
    """Throughput of one cell in Mb/s."""
    rate, framing = PATHS[path]
    return table.mean(total_mbps, network, scheme, rate=rate, framing=framing)


def _cell(runs: Experiments, scheme: str, path: str) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        table = runs("table1")
        ours = mbps(table, PAPER, scheme, path)
        also = {network: mbps(table, network, scheme, path) for network in NS2_NETWORKS}
        rate, framing = PATHS[path]
        lost = {network: _lost(table.at(network, scheme, rate=rate, framing=framing)) for network in (PAPER, "V1")}
        ns2 = ns2_values(claim.id)
        beside = ", ".join(f"{also[network].mean:.2f} on {network} (ns-2 {ns2[network]:g})" for network in NS2_NETWORKS)
        why = (
            f"10 packets at each router, hosts without a limit: {lost[PAPER]:.0f} packets of data lost; with 10 "
            f"at the sending host (V1) {lost['V1']:.0f}. {beside}. "
        )
        return Evidence(ours, why + _WHY[scheme], ns2=ns2, also=also)

    return evaluate


def _lost(runs: Sequence[RunResult]) -> float:
    """Data packets dropped on the way to the client, a run."""
    dropped = [float(hop_of(run, name, "down")["drops"]) for run in runs for name in ("server", "cable")]
    return sum(dropped) / len(runs)


def _ordered(runs: Experiments) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        text, holds = [], {}
        for network in (PAPER, *NS2_NETWORKS):
            table = runs("table1")
            broken = []
            for path in PATHS:
                reno, acc, af = (mbps(table, network, scheme, path).mean for scheme in SCHEMES)
                acc_first = path == "28.8 C" or acc >= reno * (1.0 - TIE)
                if not (acc_first and af >= acc * (1.0 - TIE) and af >= reno * (1.0 - TIE)):
                    broken.append(f"{path} ({reno:.2f}, {acc:.2f}, {af:.2f})")
            holds[network] = not broken
            text.append(f"{network}: " + (f"not at {', '.join(broken)}" if broken else "in all four"))
        why = (
            f"Reno, ACC, AF in Mb/s; {'; '.join(text)}. On V1 the sender adaptation keeps "
            "the window at 100 packets, more than path and 10-packet host queue hold, and "
            "loses what Reno's slower ACKs hold back"
        )
        return Evidence(None, why, holds=holds[PAPER])

    return evaluate


def _poor_above_ten(runs: Experiments) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        cells = {path: mbps(runs("table1"), PAPER, "Reno", path).mean for path in PATHS}
        k = {
            rate: closed_forms.normalized_bandwidth_ratio(10e6, bps, 1000.0, 40.0)
            for rate, bps in (("9.6", 9.6e3), ("28.8", 28.8e3))
        }
        ordered = max(cells["9.6"], cells["28.8"]) < min(cells["9.6 C"], cells["28.8 C"])
        why = (
            f"k = {k['9.6']:.1f} and {k['28.8']:.1f}; without compression {cells['9.6']:.2f} and "
            f"{cells['28.8']:.2f} Mb/s, with it {cells['9.6 C']:.2f} and {cells['28.8 C']:.2f}"
        )
        return Evidence(None, why, holds=ordered and min(k.values()) > 10.0)

    return evaluate


def _acks_waiting(runs: Experiments) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        table, found, holds = runs("table1"), [], True
        for path in ("9.6", "28.8"):
            rate, framing = PATHS[path]
            reno, acc, af = (
                table.mean(
                    lambda run: hop_of(run, "return", "up")["queue_packets_mean"],
                    PAPER,
                    scheme,
                    rate=rate,
                    framing=framing,
                ).mean
                for scheme in SCHEMES
            )
            found.append(f"{path}: {reno:.1f}, {acc:.1f}, {af:.1f}")
            holds = holds and af <= 1.0 + 1e-9 and acc < reno
        return Evidence(None, f"ACKs waiting on average with Reno, ACC, AF at {'; '.join(found)}", holds=holds)

    return evaluate


def _acks_passing(runs: Experiments) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        rate, framing = PATHS["28.8 C"]
        k = closed_forms.normalized_bandwidth_ratio(10e6, 28.8e3, 1000.0, 6.0)
        hops = [hop_of(run, "return", "up") for run in runs("table1").at(PAPER, "Reno", rate=rate, framing=framing)]
        sent, passed = sum(hop["delivered"] + hop["drops"] for hop in hops), sum(hop["delivered"] for hop in hops)
        return Evidence(
            None,
            f"at 28.8 C, where the forward link is kept full, one ACK in {sent / passed:.2f} passes "
            f"the return link, with k = {k:.2f}",
            holds=abs(sent / passed / k - 1.0) <= 0.15,
        )

    return evaluate


def _no_loss(runs: Experiments) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        lost = {}
        networks = (PAPER, *NS2_NETWORKS)
        for network in networks:
            for path in ("9.6 C", "28.8 C"):
                rate, framing = PATHS[path]
                lost[network, path] = _lost(runs("table1").at(network, "Reno", rate=rate, framing=framing))
        text = "; ".join(
            f"{network} {lost[network, '9.6 C']:.0f} at 9.6 C, {lost[network, '28.8 C']:.0f} at 28.8 C"
            for network in networks
        )
        why = (
            f"data packets lost, a run: {text}. On V1 the "
            "loss at k = 2.1 is not the burst's: a window of 100 packets is more than the path and "
            "the host's queue of 10 hold"
        )
        return Evidence(None, why, holds=not (lost[PAPER, "9.6 C"] or lost[PAPER, "28.8 C"]))

    return evaluate


def evaluators(runs: Experiments) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    cells = {claim: _cell(runs, scheme, path) for claim, (scheme, path) in CELLS.items()}
    others = {
        "P1-012": _acks_passing,
        "P1-014": _no_loss,
        "P1-030": _ordered,
        "P1-031": _poor_above_ten,
        "P1-032": _acks_waiting,
    }
    return {**cells, **{claim: make(runs) for claim, make in others.items()}}
