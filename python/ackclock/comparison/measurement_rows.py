"""TCP transfers of a measurement beside the simulated configurations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ackclock.errors import InputError, describe_path
from ackclock.statistics.summary_stats import stats_of

if TYPE_CHECKING:
    from ackclock.documents.compare import ComparedCell, MeasuredRow, SimulatedLike
    from ackclock.documents.measure import Flow, Measurement


def read_measured(folder: str | Path) -> Measurement:
    """The document of a measurement's run folder. Raises InputError."""
    from ackclock.measurement.folder import DOCUMENT, read_folder

    if not (Path(folder) / DOCUMENT).is_file():
        raise InputError(
            describe_path(Path(folder)), "a run folder of `ackclock measure`", file=str(folder), option="--measured"
        )
    return read_folder(Path(folder)).document


def beside(document: Measurement, cells: Sequence[ComparedCell], direction: str) -> list[MeasuredRow]:
    """Each single bulk transfer of the measurement in this direction, with the simulated
    configuration of the same variant and buffers.

    A measured buffer is the requested one. With both delayed-ACK settings, the simulated one is
    that of the host's rule.
    """
    flows = [f for f in document["flows"] if f["purpose"] == "tcp" and f["direction"] == direction and not f["failed"]]
    return [_row(flow, _same_configuration(flow, cells)) for flow in flows]


def _same_configuration(flow: Flow, cells: Sequence[ComparedCell]) -> ComparedCell | None:
    requested = flow["asked"]
    same = [
        c
        for c in cells
        if (c["variant"], c["send_buffer"], c["receive_buffer"])
        == (flow["variant"], requested["buffer"], requested["buffer"])
    ]
    return max(same, key=lambda c: bool(c["delayed_ack"]), default=None)


def _row(flow: Flow, cell: ComparedCell | None) -> MeasuredRow:
    (rtt_p95,) = stats_of(flow["rtt_ms"], "p95")
    simulated: SimulatedLike | None = None
    if cell is not None:
        metrics = cell["metrics"]
        simulated = {
            "label": cell["label"],
            "goodput_bps": metrics.get("goodput_bps"),
            "rtt_p95_ms": metrics.get("rtt_p95_ms"),
            "retransmission_rate": metrics.get("retransmission_rate"),
        }
    goodput = simulated and simulated["goodput_bps"]
    mean = goodput and goodput["mean"]
    return {
        "flow": flow["flow"],
        "variant": flow["variant"],
        "buffer": flow["asked"]["buffer"],
        "goodput_bps": flow["goodput_bps"],
        "rtt_p95_ms": rtt_p95,
        "retransmission_rate": flow["retransmission_rate"],
        "simulated": simulated,
        "goodput_ratio": flow["goodput_bps"] / mean if mean and flow["goodput_bps"] is not None else None,
    }


WORDS = ("variant", "buffers")
FIGURES = (
    "measured Mb/s",
    "simulated Mb/s",
    "ratio",
    "measured p95 RTT ms",
    "simulated",
    "measured retransmitted %",
    "simulated",
)
READING = (
    "Single bulk transfers of the measurement and the simulated configuration with the same "
    "variant and buffers. The measured path had other traffic, and its host was this machine's "
    "kernel."
)


def cells_of(row: MeasuredRow) -> list[str]:
    """A row as text, for the columns WORDS and FIGURES."""
    from ackclock.format import three

    simulated = row["simulated"]

    def mean(name: Literal["goodput_bps", "rtt_p95_ms", "retransmission_rate"], scale: float) -> str:
        estimate = simulated and simulated[name]
        value = estimate and estimate["mean"]
        return "-" if value is None else three(scale * value)

    def own(value: float | None, scale: float) -> str:
        return "-" if value is None else three(scale * value)

    return [
        row["variant"] or "-",
        row["buffer"],
        own(row["goodput_bps"], 1e-6),
        mean("goodput_bps", 1e-6),
        own(row["goodput_ratio"], 1.0),
        own(row["rtt_p95_ms"], 1.0),
        mean("rtt_p95_ms", 1.0),
        own(row["retransmission_rate"], 100.0),
        mean("retransmission_rate", 100.0),
    ]
