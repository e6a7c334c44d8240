"""Draw the figures of the concepts from runs of the engine: `make figures`.

The same seeds give the same bytes. Usage: python -m studies.concepts.figures docs/figures
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import ackclock
from ackclock.plot.figure import Plot
from ackclock.report.figures import figures
from studies.concepts.svg import Chart, arrow, box, line, picture, text

Points = list[tuple[float, float]]


def access(rate: str, delay: str, queue: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A path with one access link."""
    return {"hop": [{"name": "access", "rate": rate, "delay": delay, "queue": queue, **more}]}


BULK = {"workload": {"kind": "bulk"}}


def series(run: ackclock.Simulation, flow: str, column: str, scale: float = 1.0) -> Points:
    """A column of a flow's time series."""
    rows = run.series.filter(run.series["flow"] == flow).select("time_s", column).rows()
    return [(time, value * scale) for time, value in rows if value is not None]


def rates(points: Points, every: float) -> Points:
    """Mb/s from delivered bytes, over intervals of `every` seconds."""
    out: Points = []
    last_time, last = 0.0, 0.0
    for time, value in points:
        if time - last_time >= every - 1e-9:
            out.append(((time + last_time) / 2, (value - last) * 8e-6 / (time - last_time)))
            last_time, last = time, value
    return out


def bdp() -> str:
    """Goodput and RTT of windows of different size: 10 Mb/s, 40 ms."""
    goodput: Points = [(0, 0)]
    rtt: Points = []
    for kilobytes in (5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 70, 80, 90, 100):
        run = ackclock.simulate(
            access("10 Mb/s", "20 ms", {"kind": "droptail", "packets": 1000}),
            [BULK],
            "10 s",
            tcp={"receive_buffer": f"{kilobytes} kB", "send_buffer": "unlimited"},
            measure={"window": ["2 s", "10 s"]},
        )
        row = run.flows.row(0, named=True)
        goodput.append((kilobytes, row["goodput_bps"] * 1e-6))
        rtt.append((kilobytes, row["rtt_ms_mean"]))
    top = Chart("", "", "Mb/s", 100, 10, 10, 5, height=110)
    low = Chart("", "window, kB", "RTT, ms", 100, 90, 10, 30, top=190, height=110)
    for chart, points, colour in ((top, goodput, 1), (low, rtt, 2)):
        chart.frame()
        chart.add(points, colour)
        chart.parts.append(line([(chart.x(50), chart.top), (chart.x(50), chart.top + chart.height)], "line c4"))
    top.parts.append(text(top.x(51), top.top + 100, "BDP = 10 Mb/s x 40 ms = 50 kB", "small t4"))
    return picture("Goodput and RTT over the window", 345, [*top.parts, *low.parts])


def bufferbloat() -> str:
    """RTT under load with a large droptail queue, and with FQ-CoDel."""
    chart = Chart("", "time, s", "RTT, ms", 15, 600, 5, 200)
    chart.frame()
    for colour, queue in ((2, {"kind": "droptail", "bytes": "512 KiB"}), (1, {"kind": "fq-codel"})):
        run = ackclock.simulate(access("8 Mb/s", "20 ms", queue), [{**BULK, "name": "x"}], "15 s")
        chart.add(series(run, "x", "srtt_ms"), colour)
    chart.key(["droptail, 512 KiB", "fq-codel"], [2, 1])
    return picture("Smoothed RTT of a download over 8 Mb/s, 40 ms", 265, chart.parts)


def ack_clocking() -> str:
    """A download's goodput when an upload begins."""
    chart = Chart("", "time, s", "Mb/s", 20, 16, 5, 4)
    chart.frame()
    for colour, queue in ((2, {"kind": "droptail", "bytes": "64 KiB"}), (1, {"kind": "fq-codel"})):
        link = {
            "hop": [
                {
                    "name": "dsl",
                    "rate": {"down": "16 Mb/s", "up": "1 Mb/s"},
                    "delay": "18 ms",
                    "queue": {"down": {"kind": "droptail", "bytes": "256 KiB"}, "up": queue},
                }
            ]
        }
        flows = [{**BULK, "name": "down"}, {**BULK, "name": "up", "direction": "up", "start": "5 s"}]
        run = ackclock.simulate(link, flows, "20 s")
        chart.add(rates(series(run, "down", "delivered_bytes"), 0.5), colour)
    chart.parts.append(line([(chart.x(5), chart.top), (chart.x(5), chart.top + chart.height)], "line c4"))
    chart.parts.append(text(chart.x(5) + 5, chart.top + 182, "an upload begins", "small t4"))
    chart.key(["droptail queue up, 64 KiB", "fq-codel up"], [2, 1])
    return picture("Goodput of a download over 16 Mb/s down, 1 Mb/s up", 265, chart.parts)


def recovery() -> str:
    """Data in flight after a burst of losses, by recovery."""
    chart = Chart("", "time, s", "in flight, kB", 4, 120, 1, 40)
    chart.frame()
    losses = {"kind": "list", "packets": [600, 603, 606, 609, 612, 615]}
    names = ["classic", "newreno", "rack"]
    for colour, name in ((2, "classic"), (3, "newreno"), (1, "rack")):
        link = access("8 Mb/s", "40 ms", {"kind": "droptail", "packets": 200}, loss={"down": losses})
        tcp = {"variant": "reno", "recovery": name, "receive_buffer": "100 kB"}
        run = ackclock.simulate(link, [{**BULK, "name": "x"}], "4 s", tcp=tcp, sample="20 ms")
        chart.add(series(run, "x", "flight_bytes", 1e-3), colour)
    chart.key(names, [2, 3, 1])
    return picture("Data in flight of reno: six of sixteen segments are lost", 265, chart.parts)


def grants() -> str:
    """How a packet gets onto an LTE uplink: request, grant, transport block."""
    parts = [text(20, 24, "One packet on an LTE uplink (defaults of medium grants, standard lte)", "head")]
    rows = {"phone": 70.0, "base station": 190.0}
    for name, y in rows.items():
        parts += [text(20, y + 4, name), line([(120, y), (700, y)], "axis")]
    at = {name: 120 + 580 * ms / 30 for name, ms in (("packet", 2), ("request", 8), ("grant", 15), ("block", 16))}
    for ms in range(0, 31, 5):
        parts.append(text(120 + 580 * ms / 30, 232, f"{ms} ms", "small", "middle"))
    parts += [
        text(at["packet"], 48, "packet arrives", "small", "middle"),
        arrow((at["packet"], 54), (at["packet"], 69), "c1"),
        text(at["request"] + 4, 48, "request, one bit, at most 10 ms later", "small"),
        arrow((at["request"], 70), (at["request"] + 8, 188), "c2"),
        arrow((at["grant"] - 8, 190), (at["grant"], 72), "c3"),
        text(at["grant"] - 14, 136, "grant", "small", "end"),
        arrow((at["block"], 70), (at["block"] + 20, 188), "c1"),
        text(at["block"] + 22, 100, "block of a 1 ms subframe:", "small"),
        text(at["block"] + 22, 117, "100 B first, the rest is requested with it", "small"),
        text(at["block"] + 32, 160, "damaged (10 %): once more 8 ms later", "small"),
    ]
    return picture("Request, grant and transport block on an LTE uplink", 245, parts)


def clocks() -> str:
    """One-way delays from two clocks that do not agree."""
    parts = []
    for name, x in (("server", 230.0), ("client", 540.0)):
        parts += [text(x, 24, name, "head", "middle"), line([(x, 34), (x, 210)], "axis")]
    parts += [
        arrow((230, 60), (540, 110), "c1"),
        text(220, 64, "sent at 1000 ms, server's clock", "small", "end"),
        text(550, 114, "received at 3030 ms", "small"),
        text(550, 131, "client's clock: +2030", "small t1"),
        arrow((540, 150), (230, 190), "c2"),
        text(550, 154, "sent at 3040 ms", "small"),
        text(220, 194, "received at 1060 ms: -1980", "small t2", "end"),
    ]
    notes = ("The sum does not depend on the clocks: 2030 - 1980 = 50 ms, both directions together.",
             "If the minimum delays of both directions are equal, each is 25 ms, and the client is 2005 ms ahead.",
             "What a packet waits beyond the minimum of its own direction needs no assumption.")  # fmt: skip
    parts += [text(20, 240 + 19 * number, note, "small") for number, note in enumerate(notes)]
    return picture("Delays of two packets by two clocks", 290, parts)


def loop() -> str:
    """The five ways in, round one link file."""
    parts = [
        box(280, 100, 160, 80, ["link file", "rates, delays, queues,", "media, losses"]),
        box(20, 20, 170, 54, ["measure", "a live path"]),
        box(20, 113, 170, 54, ["analyze, fit", "captures of both ends"]),
        box(20, 206, 170, 54, ["packaged", "DSL, cable, LTE, LEO, .."]),
        box(530, 20, 170, 54, ["compare, advise", "which TCP, what to change"]),
        box(530, 113, 170, 54, ["simulate, sweep", "what happens, and when"]),
        box(530, 206, 170, 54, ["emulate", "your program behind it"]),
    ]
    for y in (47, 140, 233):
        parts += [arrow((190, y), (276, 140 + (y - 140) / 5), "c1"), arrow((440, 140 + (y - 140) / 5), (526, y), "c3")]
    parts += [
        line([(615, 260), (615, 290), (205, 290), (205, 160)], "line c2"),
        arrow((205, 160), (193, 152), "c2"),
        text(410, 308, "captures of a run or an emulation", "small t2", "middle"),
    ]
    return picture("One link file: where it comes from, and what reads it", 315, parts)


@cache
def _household() -> ackclock.Comparison:
    return ackclock.compare("dsl-16m", variants=["cubic"], queue=["link", "fq-codel"])


def household(*, dark: bool) -> str:
    """What people feel on a DSL line as it is and with another queue, as the report draws it."""
    found = figures(_household()._page())["what-people-feel-on-this-link"]
    title = f"{_household().title}: what people feel beside a download and an upload"
    return Plot(found.charts, title, dark=dark).to_svg()


FIGURES: dict[str, Callable[[], str]] = {
    "household": partial(household, dark=False),
    "household-dark": partial(household, dark=True),
    "loop": loop,
    "bdp": bdp,
    "bufferbloat": bufferbloat,
    "ack-clocking": ack_clocking,
    "grants": grants,
    "recovery": recovery,
    "clocks": clocks,
}


def main() -> None:
    """Write all figures into the folder that the command line names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or FIGURES:
        (folder / f"{name}.svg").write_text(FIGURES[name](), "utf-8")


if __name__ == "__main__":
    main()
