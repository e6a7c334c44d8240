"""The report of a test of another program: rates and RTTs over time as the report of `measure` has
them, then the figures.
"""

from __future__ import annotations

from ackclock.format import figure, milliseconds, rate, three
from ackclock.other_programs.model import ProgramTest
from ackclock.plot.time_axis import stacked
from ackclock.plot.time_series import Line, Panel
from ackclock.report.page import Cell, Chart, Column, Facts, Page, Section, Table

HEADINGS = {
    "goodput_bps": "Goodput",
    "rtt_ms_mean": "RTT mean",
    "rtt_ms_min": "min",
    "rtt_ms_p95": "p95",
    "retransmits": "Retransmissions",
    "loss_rate": "Lost",
    "jitter_ms": "Jitter",
}
MAX_LINES = 12
"""Lines of a panel."""
READING = {
    "iperf3": "Above, the rate of each direction in the intervals of the test. Below, the mean RTT of the sending "
    "connections (the kernel's SRTT) at the ends of the intervals.",
    "flent": "Above, the rate of each series in Flent's steps. Below, the RTTs of its pings and connections.",
}


def page(test: ProgramTest) -> Page:
    """The page of one test."""
    sections = [
        Section("Over time", [drawn] if (drawn := _timeline(test)) else []),
        Section("Figures", [_figures(test)]),
        Section("The test", [Facts([("Program", test.program), ("File", test.file), ("Test", test.title or "-")])]),
    ]
    started = [test.started] if test.started else []
    return Page(
        title=f"{test.program}: {test.title or test.file}",
        subtitle=", ".join([*started, *([f"{three(test.seconds)} s"] if test.seconds else [])]),
        answer=_answer(test),
        because="",
        sections=[section for section in sections if section.blocks],
        notes=[f"{remark[:1].upper()}{remark[1:]}." for remark in test.remarks],
        kind="report",
    )


def _answer(test: ProgramTest) -> str:
    rates = {where: one["goodput_bps"] for where, one in test.figures.items() if "goodput_bps" in one}
    if not rates:
        where, figures = next(iter(test.figures.items()))
        return f"{where}: a mean RTT of {milliseconds(figures.get('rtt_ms_mean'))}."
    parts = [f"{where} had {rate(value)}" for where, value in list(rates.items())[:4]]
    return f"{', '.join(parts)}."


def _timeline(test: ProgramTest) -> Chart | None:
    panels = []
    for key, title, unit in (("rate", "Rate", "Mb/s"), ("rtt", "RTT", "ms")):
        lines = [Line(one.name, list(one.times), list(one.values)) for one in test.series if one.quantity == key]
        if lines:
            panels.append(Panel(key, title, unit, "", tuple(lines[:MAX_LINES])))
    if not panels:
        return None
    end = max(one.times[-1] for one in test.series)
    return Chart("Rate and RTT over time", READING[test.program], stacked(panels, [], end))


def _figures(test: ProgramTest) -> Table:
    names = [name for name in HEADINGS if any(name in figures for figures in test.figures.values())]
    rows = [
        [Cell(where), *(Cell(figure(figures.get(name), name)) for name in names)]
        for where, figures in test.figures.items()
    ]
    return Table([Column("Flow", room="medium"), *(Column(HEADINGS[name], numeric=True) for name in names)], rows)
