"""The data files of Flent (JSON, also gzip or bzip2): its series by name, with means over the test
(flent.org, "Data file format").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ackclock.errors import InputError
from ackclock.other_programs.model import ProgramTest, Reader, mean, number

RATE_UNITS = {"bits/s": 1e-6, "kbits/s": 1e-3, "mbits/s": 1.0, "gbits/s": 1e3}
"""Mb/s by the unit of a series."""
RTT = re.compile(r"ping|rtt|latency", re.IGNORECASE)
RATE = re.compile(r"^(tcp|udp|quic)\b.*\b(download|upload|totals?|up|down)\b|bandwidth|throughput", re.IGNORECASE)
STATISTIC = re.compile(r"::\d*::?(tcp_\w+)$|::(tcp_\w+)$")


def is_flent(data: Mapping[str, Any]) -> bool:
    """Whether a document is of Flent."""
    return {"metadata", "results", "x_values"} <= data.keys()


def read_flent(data: Mapping[str, Any], file: str) -> ProgramTest:
    """The test. Raises InputError for a file without results."""
    reader = Reader(file)
    meta, results = reader.table(data, "metadata"), reader.table(data, "results")
    times = [number(value) for value in reader.items(data, "x_values")]
    named = reader.table(meta, "SERIES_META")
    test = ProgramTest("flent", file, started=reader.text(meta, "TIME"), seconds=reader.number(meta, "LENGTH"))
    test.title = ", ".join(
        filter(None, (reader.text(meta, "NAME"), reader.text(meta, "TITLE"), reader.text(meta, "HOST")))
    )
    left_out = []
    for name in results:
        values = [number(value) for value in reader.items(results, name)]
        if len(values) != len(times):
            raise InputError(f"{len(values)} values", f"{len(times)}, as x_values", file=file, key=f"results.{name}")
        about = reader.table(named, name)
        scale, quantity = _quantity(str(name), reader.text(about, "UNITS"))
        known = sorted(value * scale for value in values if value is not None)
        if not quantity:
            left_out.append(str(name))
        if not quantity or not known:
            continue
        if quantity == "rate":
            whole = reader.number(about, "MEAN_VALUE")  # the program's own, over the whole test
            rate = mean(known) if whole is None else whole * scale
            test.add(str(name), goodput_bps=None if rate is None else rate * 1e6)
        else:
            p95 = known[max(0, -(-95 * len(known) // 100) - 1)]
            test.add(str(name), rtt_ms_mean=mean(known), rtt_ms_p95=p95)
        points = ((at, None if value is None else value * scale) for at, value in zip(times, values, strict=True))
        test.add_series(str(name), "rate" if quantity == "rate" else "rtt", points)
    if left_out:
        test.remarks.append(f"neither rates nor RTTs: {', '.join(left_out[:20])}")
    if not test.figures:
        raise InputError("no rates and no RTTs", "a data file of a finished test", file=file, key="results")
    return test


def _quantity(name: str, units: str) -> tuple[float, str]:
    """The factor to Mb/s or ms, and the quantity: "rate", "rtt", or empty for another."""
    statistic = STATISTIC.search(name)
    if statistic and (statistic[1] or statistic[2]) not in ("tcp_rtt", "tcp_delivery_rate"):
        return 1.0, ""
    unit = units.lower().replace(" ", "")
    if unit in RATE_UNITS:
        return RATE_UNITS[unit], "rate"
    if unit == "ms":
        return 1.0, "rtt" if RTT.search(name) else ""
    if unit:
        return 1.0, ""
    if statistic:
        return 1.0, "rtt" if "tcp_rtt" in statistic[0] else "rate"
    if RTT.search(name):
        return 1.0, "rtt"
    return 1.0, "rate" if RATE.search(name) else ""
