"""The report of a comparison: the recommendation with reasons, the ranking, the trade-off, and
charts of runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.comparison import household_answer
from ackclock.comparison.ack_path import UNMARKED
from ackclock.comparison.asymmetry import implied, recorded_warning
from ackclock.comparison.measurement_rows import FIGURES, READING, WORDS, cells_of
from ackclock.comparison.prices import OTHERS
from ackclock.comparison.ranking import equal_configurations
from ackclock.comparison.screen import facts
from ackclock.comparison.transports import named
from ackclock.comparison.verdict import reasons, recommendation, recommended_label, tie_mark
from ackclock.format import percent, rate, three
from ackclock.plot import vega
from ackclock.report.cells import metric_cell
from ackclock.report.link_path import link_path
from ackclock.report.page import Cell, Chart, Column, Facts, Page, Section, Table
from ackclock.report.run_input import RunInput, read_input
from ackclock.report.sections import run_section, time_section
from ackclock.simulation.model_tables import MAX_BARS, bar, bars_reading, drawn_range
from ackclock.simulation.recordings import sentences
from ackclock.storage.run_kind import COMPARE
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.compare import Comparison, Rank
    from ackclock.documents.parts import Estimate, Metrics
    from ackclock.plot.time_series import Panel

_RANKED_BY = {
    "goodput_bps": "goodput",
    "rtt_p95_ms": "95th percentile of the RTT",
    "retransmission_rate": "retransmission rate",
    "jain": "fairness (Jain's index)",
}


def page(document: Comparison, panels: Sequence[Panel], given: RunInput) -> Page:
    """The page of ``compare``'s JSON document, with the panels of some of its runs."""
    metrics = {cell["label"]: cell["metrics"] for cell in document["cells"]}
    best = _recommended(document)
    title = document["title"] or document["link"]
    several = "jain" in metrics[best["label"]]
    of_apps = household_answer.is_of_apps(document)
    return Page(
        title=f"A household on {title}" if of_apps else f"{named(document['ranking'])} over {title}",
        subtitle=f"{len(metrics)} configurations compared over {document['link']}, {_runs(document)}",
        answer=household_answer.answer(document) if of_apps else recommendation(document, metrics),
        because=" ".join(household_answer.reasons(document) if of_apps else reasons(document, metrics)),
        sections=[
            *(household_answer.sections(document) if of_apps else []),
            Section(
                "Goodput against delay",
                [_trade_off(metrics, recommended_label(document)), _intervals(document, metrics)],
            ),
            Section("Ranking", [_ranking(document, metrics, several)], _rule(document)),
            *([] if of_apps else _loads(document)),
            *_prices(document),
            *_measured(document),
            time_section(
                panels,
                "one seed each: the first of the ranking, the recommended one, the one with the lowest delay of those "
                "with a good rate, "
                "the best of every other variant, and the last",
            ),
            Section(
                "The link",
                [link_path(given.scenario["hop"], given.scenario.get("tunnel", ())), Facts(_link_facts(document))],
            ),
            run_section(given),
        ],
        notes=_notes(document),
        kind="compare",
        facts=facts(document),
    )


def folder_page(folder: Path) -> Page:
    """The page of a comparison by its run folder."""
    from ackclock.plot.time_series import panels_of_dataset

    document = read_json(folder / COMPARE.document)
    given = replace(read_input(folder), scenario=document["scenario"])
    return page(document, panels_of_dataset(folder, document["shown"]), given)


def _measured(document: Comparison) -> list[Section]:
    rows = document.get("measured")
    if not rows:
        return []
    columns = [
        *(Column(word.capitalize()) for word in WORDS),
        *(Column(figure.capitalize(), numeric=True) for figure in FIGURES),
    ]
    table = Table(columns, [[Cell(text) for text in cells_of(row)] for row in rows], READING)
    return [Section("Measured and simulated", [table])]


def _recommended(document: Comparison) -> Rank:
    """The recommended choice of the ranking; without one its first."""
    of = (ranked for ranked in document["ranking"] if ranked["label"] == recommended_label(document))
    return next(of, document["ranking"][0])


def _loads(document: Comparison) -> list[Section]:
    """The first choices under each load, side by side, with their scores."""
    judgement = document.get("judgement")
    if not judgement:
        return []
    by_label = {cell["label"]: cell["loads"] for cell in document["cells"] if cell.get("loads")}
    names = list(next(iter(by_label.values()), {}))
    columns = [Column("Configuration", room="medium")]
    for name in names:
        goodputs = ("down", "up") if name not in ("down", "up") else (name,)
        columns += [Column(f"{name}: goodput {one} (Mb/s)", numeric=True) for one in goodputs]
        columns.append(Column(f"{name}: p95 RTT of a sparse flow (ms)", numeric=True))
    columns += [Column("Score", numeric=True), Column("Harm", room="wide")]
    base = next(choice for choice in judgement["choices"] if choice["label"] == judgement["defaults"])["score"]["mean"]
    rows, emphasis = [], []
    for choice in judgement["choices"]:
        row = [Cell(choice["label"])]
        for name in names:
            of = by_label.get(choice["label"], {}).get(name, {})
            goodputs = ("down", "up") if name not in ("down", "up") else (name,)
            row += [metric_cell(of.get(f"{one}_goodput_bps"), 1e-6) for one in goodputs]
            row.append(metric_cell(of.get("sparse_rtt_p95_ms")))
        harm = "; ".join(one["text"] for one in choice["harm"] or ())
        tested = "none" if choice["harm"] is not None else "not tested"
        score: Estimate = {**choice["score"], "modes": [], "values": []}
        rows.append(
            [*row, metric_cell(score, 1.0 / base if base else 1.0), Cell(harm or tested, tone="bad" if harm else "")]
        )
        emphasis.append("best" if choice["label"] == recommended_label(document) else "")
    reading = (
        f"Each load runs with a sparse flow in both directions. The score is that of the goal {judgement['goal']}, mean over "
        "the loads, as a multiple of the score of the host's defaults. Harm is where a flow or a transfer beside it, or "
        "itself beside a cubic flow, falls below half of what the host's defaults give there."
    )
    return [Section("Under loads", [Table(columns, rows, reading, emphasis)])]


def _prices(document: Comparison) -> list[Section]:
    prices = document.get("prices")
    if not prices or not prices["choices"]:
        return []
    columns = [Column("Configuration", room="medium"), Column("Retransmitted (%)", numeric=True)]
    for other in OTHERS:
        columns += [
            Column(f"Goodput beside a {other} flow (Mb/s)", numeric=True),
            Column(f"The {other} flow's (Mb/s)", numeric=True),
            Column("Jain", numeric=True),
            Column(f"Harm to {other} (%)", numeric=True),
        ]
    columns += [
        Column("p95 delay of a sparse flow (ms)", numeric=True),
        Column("Its packets lost (%)", numeric=True),
        Column("Short transfer, median (ms)", numeric=True),
        Column("p95 (ms)", numeric=True),
    ]
    rows = []
    for choice in (*prices["choices"], *prices["references"]):
        of, tones = choice["metrics"], {one["metric"]: "bad" for one in choice["named"]}

        def cell(name: str, scale: float = 1.0, of: Metrics = of, tones: Mapping[str, str] = tones) -> Cell:
            return replace(metric_cell(of.get(name), scale), tone=tones.get(name, ""))

        row = [Cell(choice["label"]), cell("retransmission_rate", 100.0)]
        for other in OTHERS:
            row += [
                cell(f"beside_{other}_goodput_bps", 1e-6),
                cell(f"{other}_goodput_bps", 1e-6),
                cell(f"beside_{other}_jain"),
                cell(f"{other}_harm", 100.0),
            ]
        row += [cell("probe_delay_p95_ms"), cell("probe_loss_rate", 100.0)]
        rows.append([*row, cell("short_p50_s", 1e3), cell("short_p95_s", 1e3)])
    reading = (
        "Harm is what the other flow loses against a flow with the host's defaults in this place (after Ware et al. "
        "2019). The sparse flow sends a small packet every 20 ms or more, and again after 1 s where more than 5 % are "
        "lost; a short transfer has 100 kB. A named price is 10 %, 10 ms or 1 point of retransmissions worse than the "
        "best choice tied with it, or than the host's defaults in its place. An equal share is no price."
    )
    return [Section("Prices", [Table(columns, rows, reading)])]


def _runs(document: Comparison) -> str:
    n = document["cells"][0]["n"]
    beside = sum(
        int(flow.get("count", 1))
        for flow in document["scenario"].get("flow", ())
        if flow["name"].startswith("opposite")
    )
    others = f", beside {beside} flow{'s' if beside > 1 else ''} in the opposite direction" if beside else ""
    judgement = document.get("judgement")
    household_s = judgement.get("household_s") if judgement else None
    duration = f"a household of {household_s:.0f} s" if household_s else f"{document['scenario']['duration']} per run"
    return f"{n} seed{'s' if n > 1 else ''} each, {duration}{others}"


def _notes(document: Comparison) -> list[str]:
    notes = [
        "Intervals are 95 % intervals of the mean over seeds, on the logarithm. Configurations share seeds and are "
        "compared by the ratios of their means with Holm's correction; differences below 1 % are ties even if "
        "significant."
    ]
    notes += [note for note in document.get("notes", ()) if note != UNMARKED]
    if recordings := document.get("recordings"):
        notes += sentences(recordings)
        notes.append(
            "The link's rate is recorded: each seed starts at another time of the recording, so the intervals include "
            "how the recording varies, but not how other recordings differ from it."
        )
    return notes


def _rule(document: Comparison) -> str:
    return (
        f"Ranked by {_RANKED_BY[document['rank_by']]}. Equal ranks are ties: the 95 % interval of the ratio to the "
        "best of them over the seeds includes 1, or the difference is below 1 %; a tie ends at the first with neither. "
        "? marks a tie in which the means are more than 5 % apart: the seeds scatter too much to separate it. Within a tie the order is by p95 RTT, then by "
        "retransmissions, then by the number of changes from the host's variant and delayed ACKs."
    )


def _ranking(document: Comparison, metrics: Mapping[str, Metrics], several: bool) -> Table:
    beside = any("opposite_goodput_bps" in of for of in metrics.values())
    columns = [
        Column("Rank", numeric=True),
        Column("Configuration", room="medium"),
        Column("Goodput (Mb/s)", numeric=True),
        Column("p95 RTT (ms)", numeric=True),
        Column("Retransmitted (%)", numeric=True),
        *([Column("Jain", numeric=True)] if several else []),
        *([Column("Opposite (Mb/s)", numeric=True)] if beside else []),
        Column("Why", room="medium" if beside else "wide"),
    ]
    rows, emphasis = [], []
    same_as = {ranked["label"]: ranked["same_as"] for ranked in document["ranking"]}
    for ranked in document["ranking"]:
        if ranked["same_as"]:
            continue
        of, params = metrics[ranked["label"]], ranked["params"]
        rows.append(
            [
                Cell(f"{ranked['rank']}{tie_mark(ranked)}"),
                Cell(str(params["variant"]), ranked["label"].partition(", ")[2]),
                metric_cell(of.get("goodput_bps"), 1e-6),
                metric_cell(of.get("rtt_p95_ms")),
                metric_cell(of.get("retransmission_rate"), 100.0),
                *([metric_cell(of.get("jain"))] if several else []),
                *([metric_cell(of.get("opposite_goodput_bps"), 1e-6)] if beside else []),
                Cell((ranked["why"] or "") + equal_configurations(ranked["label"], same_as)),
            ]
        )
        emphasis.append("best" if ranked["rank"] == 1 else "")
    reading = (
        "Configurations with the same figures share a row. Figures are means over seeds; the 95 % "
        "interval is below if it is wider than the last digit."
    )
    return Table(columns, rows, reading, emphasis)


def _trade_off(metrics: Mapping[str, Metrics], recommended: str | None) -> Chart:
    rows: list[vega.ConfigurationPoint] = []
    for label, of in metrics.items():
        goodput, rtt = of.get("goodput_bps"), of.get("rtt_p95_ms")
        if goodput and rtt:
            (goodput_lo, goodput_hi), (rtt_lo, rtt_hi) = drawn_range(goodput), drawn_range(rtt)
            rows.append(
                {
                    "label": label,
                    "variant": label.partition(",")[0],
                    "goodput": (goodput["mean"] or 0.0) / 1e6,
                    "goodput_lo": goodput_lo / 1e6,
                    "goodput_hi": goodput_hi / 1e6,
                    "rtt": rtt["mean"] or 0.0,
                    "rtt_lo": rtt_lo,
                    "rtt_hi": rtt_hi,
                }
            )
    reading = (
        "Each point is a configuration, its lines are the 95 % intervals, or join two modes or a few values that are "
        "far apart. The best configurations "
        "are at the upper left: high goodput, low delay. A ring marks the recommended one. The pointer over a point "
        "shows the name."
    )
    return Chart("Goodput against delay", reading, vega.trade_off(rows, recommended))


def _intervals(document: Comparison, metrics: Mapping[str, Metrics]) -> Chart:
    labels = [ranked["label"] for ranked in document["ranking"] if not ranked["same_as"]]
    rows = [row for label in labels[:MAX_BARS] if (row := bar(label, metrics[label]))]
    reading = bars_reading(rows, "In ranking order. Configurations with widely overlapping intervals hardly differ.")
    of = "every configuration" if len(labels) <= MAX_BARS else f"the first {MAX_BARS} of {len(labels)} configurations"
    return Chart(f"Goodput of {of}", reading, vega.bars(rows, "Goodput (Mb/s)"))


def _link_facts(document: Comparison) -> list[tuple[str, str]]:
    facts = []
    found = document.get("asymmetry")
    if found:
        facts.append(
            (
                "Normalised bandwidth ratio k",
                f"{three(found['k'])} = ({rate(found['forward_bps'])} / {rate(found['reverse_bps'])}) / "
                f"({found['data_bytes']} B / {found['ack_bytes']} B on the wire): {implied(found['k'])}",
            )
        )
    elif why := document.get("no_asymmetry"):
        facts.append(("Normalised bandwidth ratio k", f"none: {why}"))
    if warning := recorded_warning(document["scenario"]["hop"]):
        facts.append(("A recorded rate", warning))
    facts += [("ACK congestion control", note) for note in document.get("notes", ()) if note == UNMARKED]
    label = _recommended(document)["label"]
    best = next(c for c in document["cells"] if c["label"] == label)["metrics"]
    for name, key in (
        ("Hop with the highest utilization, recommended configuration", "utilization"),
        ("ACKs dropped, recommended configuration", "ack_drop_share"),
    ):
        if key in best:
            facts.append((name, percent(best[key]["mean"])))
    return facts
