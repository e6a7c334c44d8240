"""Synthetic frames and summaries of runs, for tests of charts and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

STEP_S = 0.1
DROP_CAUSES = ("queue_full", "early", "policed", "ack_filter", "loss", "retries", "outage", "handover", "no_route")


def series(flows: Sequence[str] = ("flow",), *, seconds: float = 20.0, bps: float = 8e6, seed: int = 1) -> pl.DataFrame:
    """A sawtooth of 5 s per flow; each flow delivers its share of `bps` evenly."""
    rows = []
    for flow in flows:
        for step in range(1, round(seconds / STEP_S) + 1):
            t = round(step * STEP_S, 6)
            window = (40.0 + 40.0 * (t % 5.0) / 5.0) * 1448
            rows.append(
                {
                    "seed": seed,
                    "flow": flow,
                    "time_s": t,
                    "cwnd_bytes": int(window),
                    "ssthresh_bytes": None,
                    "srtt_ms": 60.0 + 90.0 * (t % 5.0) / 5.0,
                    "flight_bytes": int(window),
                    "delivered_bytes": int(bps / len(flows) / 8.0 * t),
                    "retransmitted_segments": int(t // 5.0),
                }
            )
    return pl.DataFrame(rows, schema_overrides={"ssthresh_bytes": pl.Int64})


def hops(*, seconds: float = 20.0, seed: int = 1) -> pl.DataFrame:
    """Two hops: an idle core, and an air link whose queue fills with the sawtooth."""
    rows = []
    for step in range(1, round(seconds / STEP_S) + 1):
        t = round(step * STEP_S, 6)
        for hop, direction, packets in (
            ("core", "down", 0),
            ("air", "down", int(50.0 * (t % 5.0) / 5.0)),
            ("air", "up", int(t % 5.0)),
        ):
            rows.append(
                {
                    "seed": seed,
                    "hop": hop,
                    "direction": direction,
                    "station": None,
                    "time_s": t,
                    "queue_packets": packets,
                    "queue_bytes": packets * 1500,
                    "drops": 0,
                    "marks": 0,
                    "delivered_bytes": 0,
                }
            )
    return pl.DataFrame(rows, schema_overrides={"station": pl.Int64})


def flow(name: str = "flow", **changes: Any) -> Any:
    """One flow of a summary: 8 Mb/s, limited by its congestion window."""
    limits = {"receive_window": 0.0, "send_buffer": 0.0, "cwnd": 0.95, "application": 0.0, "recovery": 0.05}
    return {
        "flow": name,
        "variant": "cubic",
        "direction": "down",
        "goodput_bps": 8e6,
        "throughput_bps": 8.3e6,
        "rtt_ms": {"count": 900, "min": 60.0, "mean": 100.0, "p50": 95.0, "p95": 150.0, "max": 170.0, "sd": 20.0},
        "retransmitted_segments": 20,
        "retransmission_rate": 0.01,
        "timeouts": 0,
        "fast_retransmits": 4,
        "window_cuts": 4,
        "idle_share": 0.0,
        "segments_sent": 2000,
        "completed_s": None,
        "host_start_s": 0.0,
        "from_s": 0.0,
        "end_s": 20.0,
        "limited_share": limits,
        "advertised_window_bytes": 1 << 20,
        "limiting_window_bytes": None,
        "limiting_window_rtt_ms": None,
        "path": {
            "saturated": {"hop": "air", "direction": "down", "share": 0.98},
            "ack_saturated": {"hop": "air", "direction": "up", "share": 0.0},
            "ack_wait": {"hop": "air", "direction": "up", "share": 0.0},
            "ack_wait_ms": 0.0,
        },
        "limits": {"bottleneck": 0.98, "cwnd": 0.02},
        "limit": {"kind": "bottleneck", "hop": "air", "direction": "down", "cause": None, "because": "made up"},
        "why": "The bottleneck `air down` is full: it has no free capacity 98 % of the time.",
        **changes,
    }


def hop(name: str = "air", direction: str = "down", **changes: Any) -> Any:
    """One hop of a summary."""
    return {
        "hop": name,
        "direction": direction,
        "utilization": 0.98 if direction == "down" else 0.02,
        "time": {"sending": 0.9, "overhead": 0.05, "blocked": 0.03, "idle": 0.02},
        "full_share": 0.98,
        "queue_delay_ms": {"count": 2000, "mean": 40.0, "p95": 85.0, "max": 90.0},
        "drops": 0,
        "drops_by_cause": dict.fromkeys(DROP_CAUSES, 0),
        "marks": 0,
        "delivered": 2000,
        "control_packets": 2,
        **changes,
    }


def summary(flows: Sequence[dict[str, Any]] | None = None, seed: int = 1, **changes: Any) -> Any:
    """One run's summary."""
    return {
        "seed": seed,
        "flows": list(flows) if flows is not None else [flow()],
        "hops": [hop(), hop(direction="up")],
        "jain": 1.0,
        **changes,
    }


def scenario() -> Any:
    """A resolved scenario, as a run folder's scenario.toml gives it."""
    return {
        "title": "A test link",
        "source": "made up",
        "duration": "20 s",
        "seeds": [1, 2],
        "tcp": {"host": "linux-6", "segment": "1448 B"},
        "hop": [
            {"name": "core", "rate": "1 Gb/s", "delay": "10 ms"},
            {
                "name": "air",
                "rate": {"down": "8 Mb/s", "up": {"trace": "somewhere/up.gz"}},
                "queue": {"kind": "droptail", "packets": 50},
                "loss": {"down": {"kind": "bernoulli", "mean": 1e-4}},
            },
        ],
        "flow": [{"name": "flow", "workload": {"kind": "bulk"}}],
    }
