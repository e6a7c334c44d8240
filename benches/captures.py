"""Speed of the analyzer: packets and bytes per CPU second, instructions, peak memory, bytes per
flow, beside tcptrace; and of the command by number of flows.

The capture consists of interleaved copies of simulated flows, headers only. The cost of a small
capture is subtracted, which removes the start-up.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches import programs

PACKETS = 6_100_000  # 200 flows
SMALL = 40_000
MANY = 2_000_000
EACH = 100
FLOOD = 5_000_000
TARGET = 10e6
MAX_FLOW_BYTES, MAX_BUSY_FLOW_BYTES = 1024, 2048
MAX_INSTRUCTIONS = 1100  # a packet
BY_FLOWS = (100, 1_000, 10_000, 100_000)
MAX_COMMAND_S, MAX_COMMAND_MB = 20.0, 400.0  # of the largest number of flows
MAX_GROWTH = 1.5  # CPU time a flow, over that with a tenth of the flows, start-up out
PORTS = 1_000
BUSY_TARGET, BUSY_RATIO = 8e6, 3.5  # packets a CPU second, and over tcptrace's: at least
MAX_OUT_S, MAX_OUT_MB = 6.0, 400.0  # `--out` of the largest number of flows


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


def _memory(label: str, run: dict[str, Any], target: int = MAX_FLOW_BYTES) -> str:
    over = "" if run["bytes_per_flow"] <= target else "  OVER"
    return (
        f"          {run['bytes_per_flow']:6.0f} B a flow (target {target}){over}: "
        f"{run['flows']:,} {label}; peak {run['peak_rss_kb'] / 1024:.0f} MB"
    )


def _instructions(binary: Path, file: Path, figures: dict[str, float]) -> list[str]:
    """Instructions a packet, the start-up included; a line, and the figure into `figures`."""
    valgrind = programs.find("valgrind", "instructions of the analyzer")
    if valgrind is None:
        return []
    count = programs.instructions_per_packet(valgrind, binary, ["capture-read", str(file)], "packets")
    figures["instructions_per_packet"] = count
    return [
        f"          {count:6,.0f} instructions a packet (at most {MAX_INSTRUCTIONS:,})"
        f"{'' if count <= MAX_INSTRUCTIONS else '  OVER'}"
    ]


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
                f"M){'' if packets / cpu >= TARGET else '  OVER'}  {megabytes / cpu:6.0f} MB/CPU s  "
                f"peak {figures['peak_mb']:.1f} MB"
            ),
            *_instructions(binary, small, figures),
            _memory("all active, with losses", of_large, MAX_BUSY_FLOW_BYTES),
            _memory(f"of {EACH} packets, mostly idle", many),
            _memory(f"half open, of {FLOOD:,} SYNs", flood),
        ]
        if programs.find("tcptrace", "captures beside tcptrace") is None:
            return lines, figures
        seconds = max(1e-3, _tcptrace(large) - _tcptrace(small))
        figures["tcptrace_packets_per_cpu_s"] = packets / seconds
        return [*lines, f"tcptrace  {packets / seconds / 1e6:6.2f} M packets/CPU s (-l -r -n)"], figures


@dataclass
class _Cost:
    """The minimum CPU time and the maximum memory of several runs of a program."""

    cpu_s: float = float("inf")
    peak_mb: float = 0.0

    def add(self, command: list[str]) -> None:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}")
        self.cpu_s = min(self.cpu_s, used.ru_utime + used.ru_stime)
        self.peak_mb = max(self.peak_mb, used.ru_maxrss / 1024)


@dataclass
class _Costs:
    """The costs of `analyze --json`, of `analyze --out` if it was run, and of tcptrace."""

    ours: _Cost
    with_folder: _Cost
    tcptrace: _Cost


def _alternating(file: Path, command: Path, tcptrace: str | None, repeats: int, *, folder: Path | None) -> _Costs:
    costs = _Costs(_Cost(), _Cost(), _Cost())
    for _ in range(repeats):
        costs.ours.add([str(command), "analyze", str(file), "--json", "--quiet"])
        if folder is not None:
            costs.with_folder.add([str(command), "analyze", str(file), "--quiet", "--out", str(folder)])
            shutil.rmtree(folder)
        if tcptrace is not None:
            costs.tcptrace.add([tcptrace, "-l", "-r", "-n", str(file)])
    return costs


def by_flows(binary: Path, command: Path, repeats: int) -> tuple[list[str], dict[str, Any]]:
    """Lines to print and the figures of `analyze --json`: CPU seconds and memory by number of
    flows.
    """
    if not command.is_file():
        return [f"left out: {command} is not built (make build)"], {}
    tcptrace = programs.find("tcptrace", "the command beside tcptrace")
    head = f"{'capture':24} {'packets':>10} {'CPU s':>8} {'peak MB':>8}"
    lines = [head + ("" if tcptrace is None else f" {'tcptrace s':>11} {'its MB':>9}")]
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "flows.pcap")
        jobs = [(f"{flows:,} short flows", ["capture-short", str(file), str(flows)]) for flows in BY_FLOWS]
        jobs.append((f"scan of {PORTS:,} ports", ["capture-scan", str(file), str(PORTS)]))
        jobs.append(("busy flows", ["capture-write", str(file), str(PACKETS)]))
        for label, write in jobs:
            packets = int(_json([str(binary), *write])["packets"])
            is_largest = label.startswith(f"{BY_FLOWS[-1]:,} ")
            run = Path(folder, "run") if is_largest else None
            costs = _alternating(file, command, tcptrace, repeats, folder=run)
            figures[label] = {"packets": packets, "cpu_s": costs.ours.cpu_s, "peak_mb": costs.ours.peak_mb}
            line = f"{label:24} {packets:10,} {costs.ours.cpu_s:8.2f} {costs.ours.peak_mb:8.0f}"
            if tcptrace is not None:
                theirs = costs.tcptrace
                figures[label] |= {"tcptrace_cpu_s": theirs.cpu_s, "tcptrace_peak_mb": theirs.peak_mb}
                line += f" {theirs.cpu_s:11.2f} {theirs.peak_mb:9.0f}"
            lines.append(line)
            if is_largest:
                out = costs.with_folder
                figures[label] |= {"out_cpu_s": out.cpu_s, "out_peak_mb": out.peak_mb}
                lines.append(f"{'  with --out':24} {packets:10,} {out.cpu_s:8.2f} {out.peak_mb:8.0f}")
    return lines + _targets(figures), figures


def _targets(figures: dict[str, Any]) -> list[str]:
    """A line for each target: the value, the bound, and whether it is missed."""
    few, _, tenth, many = (figures[f"{flows:,} short flows"] for flows in BY_FLOWS)
    start_up = few["cpu_s"]
    growth = (many["cpu_s"] - start_up) / (10 * max(1e-3, tenth["cpu_s"] - start_up))
    busy = figures["busy flows"]
    busy_s = max(1e-3, busy["cpu_s"] - start_up)
    bounds = [
        (f"{BY_FLOWS[-1]:,} short flows, CPU s", many["cpu_s"], MAX_COMMAND_S),
        (f"{BY_FLOWS[-1]:,} short flows, peak MB", many["peak_mb"], MAX_COMMAND_MB),
        ("  with --out, CPU s", many["out_cpu_s"], MAX_OUT_S),
        ("  with --out, peak MB", many["out_peak_mb"], MAX_OUT_MB),
        (f"CPU time a flow, {BY_FLOWS[-1]:,} flows over {BY_FLOWS[-2]:,}", growth, MAX_GROWTH),
        (
            f"busy flows, CPU ns a packet, start-up out ({busy['packets'] / busy_s / 1e6:.2f} M a CPU s)",
            busy_s / busy["packets"] * 1e9,
            1e9 / BUSY_TARGET,
        ),
    ]
    if "tcptrace_cpu_s" in busy:
        share = busy_s / busy["tcptrace_cpu_s"]
        bounds.append((f"busy flows, CPU time over tcptrace's (1 / {1 / share:.2f})", share, 1 / BUSY_RATIO))
    return [
        f"{what:60} {value:7.2f}  (at most {bound:.4g}){'  OVER' if value > bound else ''}"
        for what, value, bound in bounds
    ]
