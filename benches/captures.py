"""How fast a capture is read into its per-flow table: packets and bytes per CPU second, peak memory, bytes a flow, beside tcptrace.

The capture is made here: time-merged copies of simulated flows, headers only. Start-up is taken out by reading a small one as well.
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
    done: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done


def _ours(binary: Path, file: Path, repeats: int) -> dict[str, Any]:
    runs = [_json([str(binary), "capture-read", str(file)]) for _ in range(repeats)]
    return min(runs, key=lambda run: float(run["cpu_s"]))


def _held(binary: Path, folder: str, how: list[str]) -> dict[str, Any]:
    """What is held of a capture made so."""
    file = Path(folder, "held.pcap")
    _json([str(binary), how[0], str(file), *how[1:]])
    held = _json([str(binary), "capture-read", str(file)])
    file.unlink()
    return held


def _room(said: str, run: dict[str, Any]) -> str:
    over = "" if run["bytes_per_flow"] <= MAX_FLOW_BYTES else "  OVER"
    return f"          {run['bytes_per_flow']:6.0f} B a flow (target {MAX_FLOW_BYTES}){over}: {run['flows']:,} {said}; peak {run['peak_rss_kb'] / 1024:.0f} MB"


def _tcptrace(file: Path) -> float:
    """CPU seconds of tcptrace's summary with its RTT statistics, which is what our table has too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["tcptrace", "-l", "-r", "-n", str(file)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def table(binary: Path, repeats: int) -> tuple[list[str], dict[str, float]]:
    """Lines to print and the figures."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.pcap"), Path(folder, "small.pcap")
        _json([str(binary), "capture-write", str(large), str(PACKETS)])
        _json([str(binary), "capture-write", str(small), str(SMALL)])
        whole, little = _ours(binary, large, repeats), _ours(binary, small, repeats)
        packets, cpu = whole["packets"] - little["packets"], whole["cpu_s"] - little["cpu_s"]
        megabytes = (large.stat().st_size - small.stat().st_size) / 1e6
        figures = {
            "packets_per_cpu_s": packets / cpu,
            "mb_per_cpu_s": megabytes / cpu,
            "peak_mb": whole["peak_rss_kb"] / 1024,
            "bytes_per_flow": whole["bytes_per_flow"],
        }
        many, flood = (
            _held(binary, folder, ["capture-write", str(MANY), str(EACH)]),
            _held(binary, folder, ["capture-flood", str(FLOOD)]),
        )
        figures |= {"bytes_per_flow_of_many": many["bytes_per_flow"], "bytes_per_half_open_flow": flood["bytes_per_flow"]}
        lines = [
            f"{whole['packets']:,} packets, {whole['flows']:,} flows, {large.stat().st_size / 1e6:.0f} MB",
            f"ackclock  {packets / cpu / 1e6:6.2f} M packets/CPU s (target {TARGET / 1e6:.0f} M){'' if packets / cpu >= TARGET else '  UNDER'}"
            f"  {megabytes / cpu:6.0f} MB/CPU s  peak {figures['peak_mb']:.1f} MB",
            *(
                _room(said, run)
                for said, run in (("all of them busy, with losses", whole), (f"of {EACH} packets, most of them quiet", many))
            ),
            _room(f"half open, of {FLOOD:,} SYNs", flood),
        ]
        if programs.find("tcptrace", "captures beside tcptrace") is None:
            return lines, figures
        seconds = max(1e-3, _tcptrace(large) - _tcptrace(small))
        figures["tcptrace_packets_per_cpu_s"] = packets / seconds
        return [*lines, f"tcptrace  {packets / seconds / 1e6:6.2f} M packets/CPU s (-l -r -n)"], figures
