"""Reports: one self-contained file, the recommendation first, charts that are drawn."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ackclock.comparison import report_page as comparison
from ackclock.comparison.configuration import configurations
from ackclock.comparison.ranking import ranking
from ackclock.emulation.report_page import _as_run
from ackclock.errors import InputError
from ackclock.format import rate, significant, three
from ackclock.papers import report_page as reproduction
from ackclock.papers.reproduce import reproduce
from ackclock.plot import Frames, Plot, panels_of_run, panels_of_runs
from ackclock.plot.theme import spread
from ackclock.report.link_path import link_path
from ackclock.report.page import Facts, Listing, Page, Section
from ackclock.report.render import generator, html, is_current
from ackclock.report.run_input import HopTable, RunInput
from ackclock.result_folder import write_report
from ackclock.simulation import report_page as simulation
from ackclock.simulation import sweep_page as sweep
from ackclock.simulation.metrics import of_run
from tests.support.synthetic import flow, hops, scenario, series, summary

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NO_BREAK = "\N{NO-BREAK SPACE}"
HOSTILE = "</script><b>bold</b>"


def _frames() -> Frames:
    return Frames(series(), hops())


def _comparison_document() -> Any:
    choices = configurations(["cubic", "reno"], ["64 KiB", "auto"], [True, False])
    runs = {
        choice: {seed: of_run(summary([flow(goodput_bps=(8e6 - 1e6 * i) * (1 + 0.01 * seed))])) for seed in (1, 2, 3)}
        for i, choice in enumerate(choices)
    }
    ranked = ranking(runs)
    cells = [
        {
            **r.configuration.params,
            "label": r.configuration.label,
            "n": 3,
            "metrics": {k: v.as_json() for k, v in r.metrics.items()},
        }
        for r in ranked
    ]
    return {
        "link": "test-link",
        "title": "A test link",
        "scenario": scenario(),
        "rank_by": "goodput_bps",
        "asymmetry": {"k": 6.25, "forward_bps": 1e7, "reverse_bps": 9600.0, "data_bytes": 1000, "ack_bytes": 6},
        "cells": cells,
        "ranking": [r.as_json() for r in ranked],
    }


@cache
def _reproduced() -> Any:
    """A reproduction without its figures."""
    return {key: value for key, value in reproduce("wibro", quick=True).document.items() if key != "figures"}


def _pages() -> dict[str, str]:
    panels = panels_of_runs({"cubic, auto": _frames(), "reno, auto": _frames()})
    sweep_cells = [
        {
            "params": {"tcp.variant": v},
            "n": 2,
            "metrics": {"goodput_bps": {"mean": 8e6, "lo": 7e6, "hi": 9e6, "sd": 1.0, "n": 2}},
        }
        for v in ("reno", "cubic")
    ]
    return {
        "compare": html(comparison.page(_comparison_document(), panels, RunInput(_comparison_document()["scenario"]))),
        "simulate": html(simulation.page(RunInput(scenario()), [summary(), summary(seed=2)], panels_of_run(_frames()))),
        "sweep": html(sweep.page({"cells": sweep_cells}, RunInput(scenario()), panels)),
        "reproduce": html(reproduction.page(_reproduced())),
    }


class _Loads(HTMLParser):
    """Everything in a page that a browser would fetch, and how many drawings there are."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.drawings = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.drawings += tag == "svg"
        self.found += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name in ("src", "href", "srcset", "data", "action") and not (value or "").startswith("#")
        ]
        if tag in ("link", "iframe", "object", "embed", "img"):
            self.found.append(tag)


@pytest.mark.parametrize("kind", ["compare", "simulate", "sweep", "reproduce"])
def test_report_loads_no_external_resource(kind: str) -> None:
    page = _pages()[kind]
    loads = _Loads()
    loads.feed(page)
    assert loads.found == []
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert style
    assert "url(" not in style
    assert "@import" not in style
    text = page.partition("<script>")[0]
    assert "http://" not in text
    assert "https://" not in text


def test_comparison_report_begins_with_the_recommendation() -> None:
    page = _pages()["compare"].replace(NO_BREAK, " ")
    answer = page.index("Use cubic with 64 KiB socket buffers and delayed ACKs: 8.16 Mb/s")
    assert answer < page.index("<h2>Ranking")
    assert "6.25 = (10.0 Mb/s / 9.60 kb/s) / (1000 B / 6 B on the wire)" in page


@pytest.mark.finding("U42")
def test_report_ends_with_the_limitations_that_touch_its_verdict() -> None:
    page = Page(title="t", subtitle="s", answer="a", because="b", sections=[], kind="diff")
    assert "<summary>What diff does not know</summary>" in html(page)
    assert "<strong>what-the-capture-has</strong>" in html(page) and "one-path" not in html(page)
    assert "does not know" not in html(replace(page, kind=""))


def test_report_has_a_limitation_of_a_recording_only_over_one() -> None:
    page = Page(title="t", subtitle="s", answer="a", because="b", sections=[], kind="compare")
    assert "recorded-rate" not in html(page) and "one-path" in html(page)
    over_one = html(replace(page, facts=("recording",)))
    assert "<strong>recorded-rate</strong>" in over_one and "medium-as-read" not in over_one


def test_chart_script_is_in_the_page_once_if_it_has_charts() -> None:
    pages = _pages()
    assert pages["compare"].count("window.ackclockEmbed=") == 1
    assert "window.ackclockEmbed=" not in pages["reproduce"]


def test_names_from_files_are_escaped() -> None:
    frames = Frames(series([HOSTILE, "other"]), hops())
    hostile: Any = {**scenario(), "title": HOSTILE}
    page = html(simulation.page(RunInput(hostile), [summary([flow(HOSTILE)])], panels_of_run(frames)))
    assert HOSTILE not in page
    assert "<b>" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here to open a report with")
@pytest.mark.parametrize("kind", ["compare", "simulate"])
def test_charts_are_drawn_by_a_browser_without_network(kind: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(_pages()[kind], "utf-8")
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update", "--proxy-server=127.0.0.1:9",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    drawn = _Loads()
    drawn.feed(dom)
    assert drawn.drawings == {"compare": 6, "simulate": 4}[kind]


def test_report_refuses_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no such run"):
        write_report(tmp_path)


def test_report_is_written_into_the_run_folder(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(
        'title = "T"\nduration = "20 s"\nseeds = [1]\n[[hop]]\nname = "air"\nrate = "8 Mb/s"\n[[flow]]\nname = "flow"\n'
    )
    (tmp_path / "summary.json").write_text(json.dumps([summary()]))
    series().write_parquet(tmp_path / "series.parquet")
    hops().write_parquet(tmp_path / "hops.parquet")
    page = write_report(tmp_path).read_text("utf-8")
    assert f"The TCP flow had 8.00{NO_BREAK}Mb/s of goodput at a p95 RTT of 150{NO_BREAK}ms." in page


def test_page_is_current_only_of_the_same_code_and_results(tmp_path: Path) -> None:
    page, results = tmp_path / "report.html", tmp_path / "environment.json"
    results.write_text("{}")
    assert not is_current(page, results)
    page.write_text(html(Page("T", "", "", "", [])))
    assert is_current(page, results)
    os.utime(results, ns=(page.stat().st_mtime_ns + 1,) * 2)
    assert not is_current(page, results)
    os.utime(results, ns=(0, 0))
    page.write_text(page.read_text().replace(generator(), "ackclock 0.9.0 0123456789abcdef"))
    assert not is_current(page, results)


def test_line_breaks_between_no_number_and_its_unit_except_in_a_listing() -> None:
    section = Section(
        "S", [Facts([("rate", "16 Mb/s, 1.5 s, 3 seeds, 20 % of 64 KiB")]), Listing("L", 'rate = "8 Mb/s"')]
    )
    page = html(Page("T", "", "", "", [section]))
    assert f"16{NO_BREAK}Mb/s, 1.5{NO_BREAK}s, 3 seeds, 20{NO_BREAK}% of 64{NO_BREAK}KiB" in page
    assert "rate = &#34;8 Mb/s&#34;" in page


def test_link_description_is_in_path_order_with_values_by_direction() -> None:
    core, air = link_path(scenario()["hop"]).steps
    assert (core.name, core.lines) == ("core", ["1 Gb/s", "10 ms one way"])
    assert air.lines == ["↓ 8 Mb/s", "↑ recorded rate, up.gz", "queue of 50 packets", "↓ loss: bernoulli mean 0.0001"]


def test_link_description_names_an_mtu() -> None:
    mtu = {"down": {"ip": "1400 B", "icmp": False}, "up": {"ip": "1492 B", "clamp_mss": True}}
    hop: HopTable = {"name": "line", "mtu": mtu}
    assert link_path([hop]).steps[0].lines == [
        "↓ packets of at most 1400 B, without a report to senders",
        "↑ packets of at most 1492 B, MSS clamped",
    ]
    (step,) = link_path([{"name": "line", "delay": "1 ms"}], [{"kind": "gre", "over": ["line"]}]).steps
    assert step.lines == ["inside a gre tunnel", "1 ms one way"]


def test_link_description_names_policer_shaper_and_framing() -> None:
    shaper = {"rate": "18 Mb/s", "queue": {"kind": "cake"}}
    policer = {"rate": "20 Mb/s", "burst": "40 kB"}
    (line,) = link_path([{"name": "line", "policer": {"down": policer}, "shaper": shaper, "framing": "docsis"}]).steps
    assert line.lines == [
        "↓ policer of 20 Mb/s, burst 40 kB",
        "shaper of 18 Mb/s, burst 1 packet, queue of any length (cake)",
        "docsis framing",
    ]
    marking: HopTable = {"name": "line", "policer": {**policer, "exceed": "ce", "framing": "docsis"}}
    assert link_path([marking]).steps[0].lines == ["policer of 20 Mb/s, burst 40 kB, exceed ce, framing docsis"]
    framings = [{"kind": "atm"}, "atm", "none", {"cells": "ptm"}, {"kind": "pppoe-ptm"}]
    lines = [link_path([{"name": "line", "framing": framing}]).steps[0].lines[0] for framing in framings]
    assert lines == ["ATM cells", "ATM cells", "no framing", "ptm cells framing", "pppoe-ptm framing"]


def test_link_description_of_a_medium_is_text_without_json() -> None:
    medium = {"kind": "wimax", "modulation": {"down": "64qam-5/6"}, "bundling": True, "stations": []}
    (air,) = link_path([{"name": "air", "medium": medium}]).steps
    assert air.lines == ["medium: wimax modulation down 64qam-5/6, bundling yes"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (1.0, "1.00"), (12.34, "12.3"), (123.4, "123"), (12345.0, "12345"), (0.0, "0")],
)
def test_three_has_three_significant_digits(value: float, text: str) -> None:
    assert three(value) == text


def test_rates_have_the_fitting_prefix() -> None:
    shown = ["9.53 Mb/s", "28.8 kb/s", "12.0 b/s", "1.00 Mb/s", "-"]
    assert [rate(v) for v in (9.53e6, 28.8e3, 12.0, 999_900.0, None)] == shown
    assert significant(2.8571, 4) == "2.857"


def test_panels_have_the_largest_flows_and_a_note() -> None:
    names = [f"flow-{i}" for i in range(1, 11)]
    panels = {panel.key: panel for panel in panels_of_run(Frames(series(names), hops()))}
    assert len(panels["cwnd"].lines) == 7
    assert panels["cwnd"].title == "Congestion window (the 7 busiest of 10 flows)"
    assert [line.name for line in panels["queue"].lines] == ["air down", "air up"]


def test_goodput_panel_is_the_slope_of_delivered_bytes() -> None:
    goodput = next(panel for panel in panels_of_run(_frames()) if panel.key == "goodput")
    assert all(value == pytest.approx(8.0, rel=1e-3) for value in goodput.lines[0].values)


def test_panels_of_several_runs_share_the_fullest_queue() -> None:
    panels = {p.key: p for p in panels_of_runs({"a": _frames(), "b": _frames()})}
    assert panels["queue"].title == "Queue at air down"
    assert [line.name for line in panels["goodput"].lines] == ["a", "b"]


@pytest.mark.finding("U22")
@pytest.mark.parametrize(
    ("suffix", "start"),
    [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF"), ("json", b"{"), ("html", b"<!DOCTYPE html>")],
)
def test_plot_is_written_in_the_format_of_its_suffix(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = Plot(panels_of_run(_frames()), "A run").save(tmp_path / f"run.{suffix}")
    assert path.read_bytes().startswith(start)


@pytest.mark.finding("U22")
def test_plot_of_several_charts_draws_each_line_in_its_colour() -> None:
    panels = panels_of_runs({"a": _frames(), "b": _frames()})
    lines = re.findall(r'<path aria-label="[^"]*line: (\w+);[^"]*"[^>]* stroke="(#\w+)"', Plot(panels).to_svg())
    assert len(lines) == sum(len(panel.lines) for panel in panels) == 8
    assert len(set(lines)) == 2 and len({colour for _, colour in lines}) == 2


@pytest.mark.finding("U22")
def test_plot_gives_charts_with_other_lines_colours_of_their_own() -> None:
    one, two = panels_of_run(_frames())[:2]
    other = replace(two, lines=tuple(replace(line, name=f"other {line.name}") for line in two.lines))
    svg = Plot([one, replace(other, lines=(*other.lines, *two.lines))]).to_svg()
    drawn = re.findall(r'<path aria-label="[^"]*line: ([^;]+);[^"]*"[^>]* stroke="(#\w+)"', svg)
    assert len(drawn) == len(one.lines) + 2 * len(two.lines)
    for lines in (drawn[: len(one.lines)], drawn[len(one.lines) :]):
        assert len({colour for _, colour in lines}) == len({name for name, _ in lines})


def test_plot_refuses_another_suffix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'the suffix ".gif"; allowed: .svg'):
        Plot(panels_of_run(_frames())).save(tmp_path / "run.gif")


def test_chart_of_a_single_queue_names_it_in_the_title() -> None:
    hop = hops().filter(pl.col("direction") == "down", pl.col("hop") == "air")
    panel = next(panel for panel in panels_of_run(Frames(series(), hop)) if panel.key == "queue")
    assert len(panel.lines) == 1 and panel.title == "Queue at air down"


def test_emulation_report_has_its_duration_and_no_stack_of_absent_simulated_flows() -> None:
    given = {"duration": "7776000 s", "seeds": [1], "tcp": {"host": "linux-6"}, "hop": []}
    live, bulk = ({"name": kind, "workload": {"kind": kind}} for kind in ("live", "bulk"))
    for flows, host in (([live], None), ([live, bulk], "linux-6")):
        facts = _as_run({**given, "flow": flows}, {"seconds": 3.14})
        assert facts["duration"] == "3.1 s" and facts["tcp"].get("host") == host and live not in facts["flow"]


def test_run_without_samples_has_no_panels() -> None:
    empty = Frames(series().clear(), hops().clear())
    assert panels_of_run(empty) == []
    with pytest.raises(ValueError, match="no series"):
        Plot(panels_of_run(empty))


def test_labels_are_spread_in_order() -> None:
    assert spread([5.0, 1.0, 5.1], 1.0) == pytest.approx([4.55, 1.0, 5.55])
    placed = spread([3.0] * 4, 2.0)
    assert placed == pytest.approx([0.0, 2.0, 4.0, 6.0])


def test_name_between_backticks_is_code_and_remains_escaped() -> None:
    page = html(Page("T", "", "The bottleneck `<dsl> up` is full.", "", []))
    assert "The bottleneck <code>&lt;dsl&gt; up</code> is full." in page


@pytest.mark.finding("U30")
def test_report_opens_with_80_words_when_the_reason_is_long() -> None:
    sentence = "The queue before the slowest link of this path is long and full."
    page = Page(title="t", subtitle="s", answer="Use cubic.", because=" ".join([sentence] * 10), sections=[])
    text = html(page)
    opened, _, folded = text.partition("<summary>More on why</summary>")
    assert opened.count(sentence) == 6 and folded.count(sentence) == 4
    assert "More on why" not in html(replace(page, because=sentence))
