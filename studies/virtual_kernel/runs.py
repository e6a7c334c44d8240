"""One row by Linux in virtual time and by the simulator, with the same figures."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ackclock
from studies.virtual_kernel import guest
from studies.virtual_kernel.build import Kernel
from studies.virtual_kernel.draws import Draws
from studies.virtual_kernel.setups import FIRST_PORT, Row

QUEUE = "10:"
"""Handle of the queueing discipline under test, where a row has one on a1 or b0."""


@dataclass(frozen=True)
class Figures:
    """What a flow did in the row's time from its SYN on.

    Goodput counts payload in order; RTTs are those of ACKs by Karn's rule, of the last segment that
    each acknowledges, at the sender's interface; `segments` with data, retransmissions included.
    """

    goodput_bps: float
    rtt_p50_ms: float
    rtt_p95_ms: float
    rtt_mean_ms: float
    retransmitted: int
    segments: int


@dataclass(frozen=True)
class Outcome:
    """The flows of one run, the packets that the row's queues dropped and marked, and the digest of
    all that the run measured."""

    flows: tuple[Figures, ...]
    drops: int
    marks: int
    digest: str


def netem_seed(row: Row, seed: int, draws: Draws) -> int | None:
    """Seed of the path's loss; None if it loses none at random."""
    return None if row.path.loss is None else draws.of(row.path.loss, seed).netem_seed


def lost_numbers(row: Row, seed: int, draws: Draws) -> list[int] | None:
    """Numbers of the data packets that the path loses; None if it loses none at random."""
    return None if row.path.loss is None else draws.of(row.path.loss, seed).numbers()


def virtual_kernel(kernel: Kernel, row: Row, seed: int, draws: Draws) -> Outcome:
    """One run by the kernel. Raises guest.Failed and Unavailable."""
    with guest.run(kernel, row.script(seed, netem_seed(row, seed, draws)), seed) as folder:
        return _read(row, folder)


def _read(row: Row, folder: Path) -> Outcome:
    received = {line["port"]: line for line in _lines(folder / "received.jsonl")}
    tapped = {line["port"]: line for line in _lines(folder / "tap.jsonl")}
    ports = range(FIRST_PORT, FIRST_PORT + len(row.flows))
    if set(received) != set(ports) or set(tapped) != set(ports):
        raise guest.Failed((folder / "console.txt").read_text("utf-8"))
    if any(line["missed"] for line in tapped.values()):
        raise guest.Failed("the tap missed packets")
    queues = [queue for name in ("a1", "b0") for queue in _leaves(folder / f"qdisc-{name}.json")]
    return Outcome(
        tuple(_figures(received[port], tapped[port]) for port in ports),
        sum(queue["drops"] for queue in queues) + _policed(folder),
        sum(_marks(queue) for queue in queues),
        guest.results_digest(folder),
    )


def _figures(received: dict[str, float], tapped: dict[str, float]) -> Figures:
    return Figures(
        round(8 * received["bytes"] / received["seconds"], 1),
        tapped["rtt_p50_ms"],
        tapped["rtt_p95_ms"],
        tapped["rtt_mean_ms"],
        int(tapped["retransmitted"]),
        int(tapped["segments"]),
    )


def _lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _leaves(path: Path) -> list[dict[str, int]]:
    return [queue for queue in json.loads(path.read_text("utf-8")) if queue["handle"] == QUEUE]


def _marks(queue: dict[str, int]) -> int:
    """Marks, which each queueing discipline counts under its own name; CAKE's, of its tins."""
    tins: list[dict[str, int]] = queue.get("tins", [])  # type: ignore[assignment]
    return sum(queue.get(name, 0) for name in ("ecn_mark", "marked")) + sum(tin["ecn_mark"] for tin in tins)


def _policed(folder: Path) -> int:
    words = (folder / "ingress-a0.txt").read_text("utf-8").replace("(", "").replace(",", "").split()
    return int(words[words.index("dropped") + 1]) if "dropped" in words else 0


def simulated(row: Row, seed: int, draws: Draws) -> Outcome:
    """The same row by `simulate`."""
    flows, duration = row.scenario(seed)
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "link.toml"
        link.write_text(row.link(seed, lost_numbers(row, seed, draws)), encoding="utf-8")
        run = ackclock.simulate(str(link), flows, duration, seeds=(seed,), sample="1 s", phase_jitter=False)
    figures = []
    for flow, result in zip(row.flows, run.flows.iter_rows(named=True), strict=True):
        goodput = result["goodput_bps"]
        if flow.bytes is not None:
            goodput = 8 * flow.bytes / result["completed_s"]
        figures.append(
            Figures(
                goodput,
                result["rtt_ms_p50"],
                result["rtt_ms_p95"],
                result["rtt_ms_mean"],
                result["retransmitted_segments"],
                result["segments_sent"],
            )
        )
    return Outcome(tuple(figures), -1, -1, "")
