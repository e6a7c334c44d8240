"""Parts that several documents share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Direction = Literal["down", "up"]


class Open(BaseModel):
    """A part of a document. Further fields may be added to it."""

    model_config = ConfigDict(extra="allow")


class SummaryStats(Open):
    """Summary of a distribution; null without values, sd needs two."""

    count: int
    min: float | None
    mean: float | None
    sd: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class Estimate(Open):
    """A mean over runs with its 95 % interval; null where it is undefined."""

    mean: float | None
    lo: float | None
    hi: float | None
    sd: float | None
    n: int


Metrics = dict[str, Estimate]


class Limits(Open):
    """What limited a flow: shares of its time, which add up to 1."""

    bottleneck: float
    ack_path: float
    receive_window: float
    send_buffer: float
    cwnd: float
    application: float
    recovery: float
    pacing: float


class Limit(Open):
    """The largest of the limits, and the reason as a sentence."""

    kind: str
    hop: str | None
    direction: Direction | None
    cause: str | None
    because: str
