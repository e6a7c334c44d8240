"""Speed of the analyzer: packets and bytes per CPU second, peak memory, bytes per flow, beside
tcptrace.

The capture consists of interleaved copies of simulated flows, headers only. The cost of a small
capture is subtracted, which removes the start-up.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import programs

PACKETS = 4_000_000
SMALL = 40_000
MANY = 2_000_000
EACH = 100
FLOOD = 5_000_000
TARGET = 10e6
MAX_FLOW_BYTES = 1024


def _json(command: list[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return document


def _ours(binary: Path, file: Path, repeats: int) -> dict[str, Any]:
    runs = [_json([str(binary), "capture-read", str(file)]) for _ in range(repeats)]
    return min(runs, key=lambda run: float(run["cpu_s"]))


def _generated(binary: Path, folder: str, command: list[str]) -> dict[str, Any]:
    """The cost of a capture that `command` writes."""
    file = Path(folder, "generated.pcap")
    _json([str(binary), command[0], str(file), *command[1:]])
    run = _json([str(binary), "capture-read", str(file)])
    file.unlink()
    return run


def _memory(label: str, run: dict[str, Any]) -> str:
    over = "" if run["bytes_per_flow"] <= MAX_FLOW_BYTES else "  OVER"
    return (
        f"          {run['bytes_per_flow']:6.0f} B a flow (target {MAX_FLOW_BYTES}){over}: "
        f"{run['flows']:,} {label}; peak {run['peak_rss_kb'] / 1024:.0f} MB"
    )


def _tcptrace(file: Path) -> float:
    """CPU seconds of tcptrace's summary with RTT statistics, as in our table."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["tcptrace", "-l", "-r", "-n", str(file)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def table(binary: Path, repeats: int) -> tuple[list[str], dict[str, float]]:
    """Lines to print and the figures."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.pcap"), Path(folder, "small.pcap")
        _json([str(binary), "capture-write", str(large), str(PACKETS)])
        _json([str(binary), "capture-write", str(small), str(SMALL)])
        of_large, of_small = _ours(binary, large, repeats), _ours(binary, small, repeats)
        packets, cpu = of_large["packets"] - of_small["packets"], of_large["cpu_s"] - of_small["cpu_s"]
        megabytes = (large.stat().st_size - small.stat().st_size) / 1e6
        figures = {
            "packets_per_cpu_s": packets / cpu,
            "mb_per_cpu_s": megabytes / cpu,
            "peak_mb": of_large["peak_rss_kb"] / 1024,
            "bytes_per_flow": of_large["bytes_per_flow"],
        }
        many, flood = (
            _generated(binary, folder, ["capture-write", str(MANY), str(EACH)]),
            _generated(binary, folder, ["capture-flood", str(FLOOD)]),
        )
        figures |= {
            "bytes_per_flow_of_many": many["bytes_per_flow"],
            "bytes_per_half_open_flow": flood["bytes_per_flow"],
        }
        lines = [
            f"{of_large['packets']:,} packets, {of_large['flows']:,} flows, {large.stat().st_size / 1e6:.0f} MB",
            (
                f"ackclock  {packets / cpu / 1e6:6.2f} M packets/CPU s (target {TARGET / 1e6:.0f} "
                f"M){'' if packets / cpu >= TARGET else '  UNDER'}  {megabytes / cpu:6.0f} MB/CPU s  "
                f"peak {figures['peak_mb']:.1f} MB"
            ),
            *(
                _memory(label, run)
                for label, run in (("all active, with losses", of_large), (f"of {EACH} packets, mostly idle", many))
            ),
            _memory(f"half open, of {FLOOD:,} SYNs", flood),
        ]
        if programs.find("tcptrace", "captures beside tcptrace") is None:
            return lines, figures
        seconds = max(1e-3, _tcptrace(large) - _tcptrace(small))
        figures["tcptrace_packets_per_cpu_s"] = packets / seconds
        return [*lines, f"tcptrace  {packets / seconds / 1e6:6.2f} M packets/CPU s (-l -r -n)"], figures
