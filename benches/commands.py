"""Cost of what a user runs: the commands of README, with their start-up and without.

usage: .venv/bin/python -m benches.commands [--repeats 5] [--json FILE]

`simulate` runs beside ns-2 in turn; `show`, `doctor`, `explain` and `compare` have their first
answers timed; `emulate` carries datagrams between namespaces; the lab's WebAssembly runs beside the
native engine. CPU and wall times are the minimum of several runs, since other work on the machine
only adds. Every figure is printed with its target; the exit status is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ackclock import _native
from ackclock.input.scenario.draft import draft_of
from ackclock.simulation.plan import Plan, build_plan
from benches import programs
from benches.figures import COMMAND, Figure, finish, minimum
from benches.peers.ns2_speed import CASES, Case, run_ns2
from benches.programs import Child, run
from studies.emulator import traffic
from tests.support.namespaces import namespaces

SEGMENT, HEADER, RTT_S, OVERSIZE = 1024, 40, 0.040, 1.3
"""As in speed.tcl: bytes of payload and headers, RTT, window over a flow's share of the path."""


@dataclass(frozen=True)
class SimulateCase:
    """A case of ns-2's for `simulate`: simulated seconds of a short and of a long run, whose
    difference has no start-up, and the ratio of CPU times to reach and to aim at.

    A sink of ns-2 counts bytes up to 2^31, which are 2,018,000 packets.
    """

    short_s: int
    long_s: int
    target: float
    aim: float


SIMULATE = {
    "one-1g": SimulateCase(2, 16, target=5.5, aim=8),
    "hundred-1g": SimulateCase(2, 14, target=12, aim=15),
    "one-10m": SimulateCase(200, 1600, target=5.5, aim=8),
}
SAME_PACKETS = 0.01
"""Delivered packets of ackclock and ns-2 differ by at most this share. The first seconds differ by
more: ns-2 has no handshake."""

FIRST_ANSWERS = (
    "show dsl-16m",
    "doctor",
    "explain one-hop-fitted",
    "compare dsl-16m --quick",
    "compare dsl-16m --quiet",
)
COMPARE, MAX_COMPARE_S, COMPARE_REPEATS = "compare dsl-16m --goal throughput --direction down --quiet", 12.0, 2

EMULATE_BPS = (50e6, 200e6)
EMULATE_S = 5.0
EMULATE_US = 8.46 / 2
"""Half of the CPU time a packet that docs/evidence/emulator-measured.md recorded on 2026-11-26 at
its lowest load, 0.50 Gb/s. It has none at 50 and 200 Mb/s, where fewer packets leave together."""

LAB = Path("target/lab")
LAB_LINKS = ("dsl-16m", "vdsl2-50m", "wimax-nist", "leo")
LAB_RATIO, LAB_REPEATS = 0.72, 12


def scenario(case: Case, seconds: float) -> str:
    """A case of speed.tcl as a scenario: the same link, windows, starts and rules of TCP.

    Random delays in hosts are off, as ns-2's script has none; the rest is a scenario's default,
    such as samples every 100 ms.
    """
    capacity = int(case.rate_bps * RTT_S / (8 * (SEGMENT + HEADER)))
    window = math.ceil(OVERSIZE * capacity / case.flows)
    queue = f'{{ kind = "droptail", packets = {2 * capacity + 10 * case.flows} }}'
    access = 'per_client = true\nrate = "10 Gb/s"\ndelay = "1 ms"\n'
    bottleneck = f'rate = "{case.rate_bps / 1e6:g} Mb/s"\ndelay = "18 ms"\nqueue = {queue}\n'
    hops = {"sender": access, "bottleneck": bottleneck, "receiver": access}
    tcp = f'host = "ns2"\nsegment = "{SEGMENT} B"\nheader = "{HEADER} B"\nreceive_buffer = "{window * SEGMENT} B"\n'
    flows = [f'[[flow]]\nstart = "{number} ms"\nworkload = {{ kind = "bulk" }}\n' for number in range(case.flows)]
    return (
        f'duration = "{seconds:g} s"\nclients = {case.flows}\nphase_jitter = false\n[tcp]\n{tcp}'
        + "".join(f'[[hop]]\nname = "{name}"\n{keys}' for name, keys in hops.items())
        + "".join(flows)
    )


def run_simulate(case: Case, folder: Path) -> tuple[int, Child]:
    """A run of `simulate`, and the data packets that its document says were delivered."""
    path = folder / "scenario.toml"
    path.write_text(scenario(case, case.seconds))
    with tempfile.TemporaryDirectory(dir=folder) as out:
        child = run([str(COMMAND), "simulate", str(path), "--json", "--quiet", "--no-report", "--out", f"{out}/run"])
    flows = json.loads(child.output)["flows"]
    if any(flow["retransmitted_segments"] for flow in flows):
        raise RuntimeError(f"ackclock lost packets in {case.name}")
    received = sum(flow["goodput_bps"] * (flow["end_s"] - flow["from_s"]) for flow in flows)
    return round(received / (8 * SEGMENT)), child


@dataclass(frozen=True)
class Pair:
    """Delivered packets and minimum CPU seconds of a short and a long run."""

    packets: tuple[int, int]
    cpu_s: tuple[float, float]

    @property
    def between(self) -> int:
        """Packets of the long run beyond those of the short one."""
        return self.packets[1] - self.packets[0]

    @property
    def us(self) -> float:
        """CPU time of a packet, start-up out."""
        return (self.cpu_s[1] - self.cpu_s[0]) / self.between * 1e6

    @property
    def start_up_s(self) -> float:
        return self.cpu_s[0] - self.us * self.packets[0] / 1e6

    @property
    def us_with_start_up(self) -> float:
        return self.cpu_s[1] / self.packets[1] * 1e6


def _pair(runs: Sequence[Sequence[tuple[int, Child]]]) -> Pair:
    short, long = ([one[which] for one in runs] for which in (0, 1))
    cpu_s = (minimum([child for _, child in short]).cpu_s, minimum([child for _, child in long]).cpu_s)
    return Pair((short[0][0], long[0][0]), cpu_s)


def beside_ns2(folder: Path, repeats: int) -> list[Figure]:
    """`simulate` and ns-2 in turn over the same cases."""
    ns = programs.find("ns", "`simulate` beside ns-2")
    if ns is None:
        return []
    head = f"{'case':12} {'packets ours':>12} {'ns-2':>9}  {'CPU s ours':>10} {'ns-2':>5}"
    print(f"{head}  {'start-up s ours':>15} {'ns-2':>5}  {'us a packet ours':>16} {'ns-2':>5}")
    figures = []
    for case in CASES:
        ours, theirs = [], []
        times = SIMULATE[case.name]
        cases = [dataclasses.replace(case, seconds=seconds) for seconds in (times.short_s, times.long_s)]
        for _ in range(repeats):
            ours.append([run_simulate(one, folder) for one in cases])
            theirs.append([run_ns2(ns, one) for one in cases])
        own, peer = _pair(ours), _pair(theirs)
        for packets, expected in ((own.packets[1], peer.packets[1]), (own.between, peer.between)):
            if abs(packets / expected - 1) > SAME_PACKETS:
                raise RuntimeError(f"{case.name}: {packets} packets, {expected} in ns-2: not the same traffic")
        print(
            f"{case.name:12} {own.packets[1]:12,} {peer.packets[1]:9,}  {own.cpu_s[1]:10.2f} {peer.cpu_s[1]:5.2f}"
            f"  {own.start_up_s:15.2f} {peer.start_up_s:5.2f}  {own.us:16.3f} {peer.us:5.3f}"
        )
        name = f"{case.name}: ns-2's CPU time over ours, start-up out"
        figures += [
            Figure(f"{name} (aim {times.aim:g})", peer.us / own.us, times.target, "x", at_least=True),
            Figure("  the same, start-up in", peer.us_with_start_up / own.us_with_start_up, None, "x"),
        ]
    return figures


def _fresh(words: str, folder: Path) -> Child:
    """A run of a command in a folder without earlier runs, which would answer it."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return run([str(COMMAND), *words.split()], Path(place))


def first_answers(folder: Path, repeats: int) -> list[Figure]:
    """Wall and CPU time of commands as they are typed, those of `compare` with the report."""
    figures = []
    for words in FIRST_ANSWERS:
        cost = minimum([_fresh(words, folder) for _ in range(repeats)])
        figures += [
            Figure(f"`ackclock {words}`, wall time", cost.wall_s, None, "s"),
            Figure("  CPU time", cost.cpu_s, None, "s"),
        ]
    cost = minimum([_fresh(COMPARE, folder) for _ in range(min(repeats, COMPARE_REPEATS))])
    figures += [
        Figure(f"`{COMPARE.removesuffix(' --quiet')}`", cost.wall_s, MAX_COMPARE_S, "s"),
        Figure("  CPU time", cost.cpu_s, None, "s"),
    ]
    return figures


def emulate() -> list[Figure]:
    """CPU time of the emulator's process with even datagrams of 1500 B in one direction, at the
    link's rate.
    """
    if not namespaces():
        programs.leave_out("`emulate`: network namespaces are not allowed here")
        return []
    if not traffic.PROGRAM.is_file():
        programs.leave_out(f"`emulate`: {traffic.PROGRAM.name} is not built")
        return []
    figures = []
    for bps in EMULATE_BPS:
        document = traffic.run(traffic.link(f'"{bps / 1e6:g} Mb/s"'), [traffic.Stream("down", bps)], EMULATE_S).document
        packets, late = document["packets_out"], document["release_error_us"]
        cpu_s = document["cpu_seconds"]
        print(
            f"{bps / 1e6:g} Mb/s: {packets:,} packets in {EMULATE_S:g} s, {cpu_s:.2f} CPU s; release error p50, p99 "
            f"{late['p50'] or 0:.0f}, {late['p99'] or 0:.0f} us; {document['grade']}, load {document['load']:.1f}"
        )
        figures += [
            Figure(f"`emulate` at {bps / 1e6:g} Mb/s, CPU time a packet", 1e6 * cpu_s / packets, EMULATE_US, "us"),
        ]
    return figures


class WasmEngine:
    """The engine of the lab page in Node, one run at a time."""

    def __init__(self, node: str, lab: Path) -> None:
        script = Path(__file__).with_name("wasm_runs.mjs")
        command = [node, str(script), str(lab)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, plan: str) -> tuple[float, str]:
        """CPU seconds and the summary of a run of a plan (JSON on one line)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(plan + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the WebAssembly engine ended")
        answer = json.loads(line)
        return float(answer["cpu_s"]), str(answer["summary"])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def _native_run(plan: Plan) -> tuple[float, str]:
    """CPU seconds and the summary of a native run with its series."""
    import polars as pl

    batches = _native.Batches(1)
    start = time.process_time()
    done = batches.run([plan.text()], [(0, 1, True)], 0)
    cpu_s = time.process_time() - start
    return cpu_s, str(pl.DataFrame(done.stored_summaries())["summary"][0])


def web_assembly(repeats: int) -> list[Figure]:
    """The native engine's CPU time over that of the lab page's, in turn: a download of 30 s."""
    what = "WebAssembly beside native"
    if not (LAB / "engine.wasm").is_file():
        programs.leave_out(f"{what}: {LAB} is not built, which takes minutes (make lab)")
        return []
    if (LAB / "engine.wasm").stat().st_mtime < max(
        path.stat().st_mtime for path in Path("crates").rglob("src/**/*.rs")
    ):
        programs.leave_out(f"{what}: {LAB} is older than crates (make lab)")
        return []
    node = programs.find("node", what)
    if node is None:
        return []
    engine = WasmEngine(node, LAB)
    figures = []
    for link in LAB_LINKS:
        tables = {"link": link, "duration": "30 s", "flow": [{"workload": {"kind": "bulk"}}]}
        plan = build_plan(draft_of(tables).check(), 1)
        text = json.dumps(plan.expanded())
        native, compiled = [], []
        for _ in range(repeats):
            native.append(_native_run(plan))
            compiled.append(engine.run(text))
        if {summary for _, summary in native} != {summary for _, summary in compiled}:
            raise RuntimeError(f"{link}: WebAssembly's summary is not the native one")
        native_s, compiled_s = min(native)[0], min(compiled)[0]
        print(f"{link}: {native_s * 1e3:.1f} ms native, {compiled_s * 1e3:.1f} ms in WebAssembly")
        name = f"WebAssembly over native, speed, {link}"
        figures.append(Figure(name, native_s / compiled_s, LAB_RATIO, "x", at_least=True))
    engine.close()
    return figures


def main() -> int:
    """Print the figures; 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], list[Figure]]] = {
            "`simulate` and ns-2 in turn": lambda: beside_ns2(folder, arguments.repeats),
            "first answers": lambda: first_answers(folder, arguments.repeats),
            "`emulate`": emulate,
            "the lab page's engine": lambda: web_assembly(LAB_REPEATS),
        }
        figures: list[Figure] = []
        for heading, part in parts.items():
            print(f"\n{heading}", flush=True)
            found = part()
            for figure in found:
                print(figure.line(), flush=True)
            figures += found
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=2) + "\n")
    return finish(figures)


if __name__ == "__main__":
    sys.exit(main())
