"""The document of ``emulate``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ackclock.documents.parts import Direction, Open, SummaryStats
from ackclock.documents.simulate import Recording

Grade = Literal["exact", "usable", "unused", "invalid"]


class Bound(Open):
    """Bounds of the relative errors by the replay of the release times; null: unbounded."""

    goodput: float | None
    rtt_p95: float | None


class Audit(Open):
    """How exactly packets were released."""

    valid: bool
    why: str
    grade: Grade
    bound: Bound
    release_error_us: SummaryStats
    input_lateness_us: SummaryStats
    deadline_misses: int
    unintended_drops: int


class ClientAudit(Audit):
    """The audit of one live client."""

    client: int


class EmulatedHop(Open):
    """One direction of a hop."""

    hop: str
    direction: Direction
    asked_bps: float | None
    achieved_bps: float | None
    drops: int
    marks: int
    delivered: int
    queue_delay_ms_mean: float | None
    recording: Recording | None = None


class Command(Open):
    """The command: its exit status, 128 + n for signal n; why it could not be run."""

    argv: list[str]
    exit: int | None
    not_run: str | None


class LogState(Open):
    """The end of the log; incomplete if the disk was full."""

    complete: bool
    until_s: float | None
    why: str | None


class ProcessTimes(Open):
    """The processes of a command, all threads; what a thread did after its last sample (each 100
    ms) is not included."""

    run_s: float = Field(description="CPU time")
    wait_s: float = Field(description="time in a run queue: ready to run, without a CPU")
    max_wait_percent: float = Field(
        description="share of `seconds` in which the thread that waited longest waited for a CPU"
    )


class CpuWait(Open):
    """How long the commands' processes waited for a CPU, which `bound` does not cover; null: no
    command, or the kernel does not count."""

    server: ProcessTimes | None
    client: ProcessTimes | None


class EmulationAudit(Audit):
    """The document of an emulation."""

    link: str
    seed: int
    notes: list[str]
    timer_p99_us: float
    hops: list[EmulatedHop]
    clients: list[ClientAudit]
    command: Command
    seconds: float
    started: float = Field(description="Unix time of the start")
    packets_in: int
    packets_out: int
    load: float
    steal_percent: float
    cpu_seconds: float
    cpu_wait: CpuWait | None = Field(default=None, description="absent in run folders of earlier versions")
    log: LogState | None
    folder: str | None = None
