"""An advice in words, as tables for the terminal, and as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from ackclock.format import joined, milliseconds, rate, three
from ackclock.report.page import Cell, Chart, Column, Listing, Page, Section
from ackclock.report.page import Table as PageTable
from ackclock.terminal import TextBelow

MAX_ROWS = 8
"""Rows of what gains nothing on the terminal; the JSON document and the report have all."""


def gain_text(value: float) -> str:
    """A ratio of scores as a gain: "+12 %"."""
    percent = 100.0 * (value - 1.0)
    return f"{percent:+.0f} %" if abs(percent) >= 99.5 else f"{percent:+.3g} %"


def verdict(document: Mapping[str, Any]) -> str:
    """The advice in a sentence or two, or that there is none."""
    rest = document["nothing_to_gain"]
    if not document["advice"]:
        text = f"Leave it as it is: none of the {len(rest)} changes tried gains 3 % beyond chance."
        tried = [row for row in rest if row["lo"] is not None]
        if tried:
            best = tried[0]
            interval = f"{gain_text(best['lo'])} .. {gain_text(best['hi'])}"
            text += f" The best of them, {best['label']}: {gain_text(best['gain'])} ({interval}), {best['why']}."
        return text
    first = document["advice"][0]
    changes = first["effect"]
    parts = []
    if goodput := changes.get("goodput_bps"):
        parts.append(f"goodput {rate(goodput['baseline'])} to {rate(goodput['advised'])}")
    if sparse := changes.get("sparse_rtt_p95_ms"):
        before, after = (milliseconds(sparse[key]) for key in ("baseline", "advised"))
        parts.append(f"p95 RTT of a sparse flow {before} to {after}")
    if document["goal"] == "fairness" and (jain := changes.get("jain")):
        parts.append(f"Jain's index {three(jain['baseline'])} to {three(jain['advised'])}")
    who = joined(first["who"].split(","))
    text = f"Change ({who}): {first['label']}: {', '.join(parts)}."
    if one := first["gain"]["one_run"]:
        text += f" The score of one run changes by {gain_text(one['lo'])} to {gain_text(one['hi'])}."
    return text


def tables(document: Mapping[str, Any]) -> list[Table]:
    """The advised changes, and the first of the others."""
    found = []
    if document["advice"]:
        table = _table("Advice", ["rank", "who"], ["gain", "95 % interval", "goodput", "sparse p95 RTT"])
        for row in document["advice"]:
            tie = "=" if row["tied_with"] else ""
            gain, changes = row["gain"], row["effect"]
            table.add_row(
                f"{row['rank']}{tie}",
                row["who"],
                gain_text(gain["ratio"]),
                f"{gain_text(gain['lo'])} .. {gain_text(gain['hi'])}",
                rate(changes["goodput_bps"]["advised"]),
                milliseconds((changes.get("sparse_rtt_p95_ms") or {}).get("advised")),
                row["label"],
            )
        found.append(table)
    rest = _table("Not advised", ["who"], ["gain", "seeds"])
    shown = document["nothing_to_gain"][:MAX_ROWS]
    for row in shown:
        rest.add_row(row["who"], gain_text(row["gain"]), str(row["n"]), f"{row['label']}: {row['why']}")
    if (left := len(document["nothing_to_gain"]) - len(shown)) > 0:
        rest.caption = f"{left} further changes: --json, or the report."
    return [*found, rest]


def _table(title: str, text: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table whose last column, the change, stands below each row."""
    table = TextBelow(title=title, title_justify="left", caption_justify="left", box=None, pad_edge=False)
    for column in (*text, *numbers):
        table.add_column(column, justify="right" if column in numbers else "left", no_wrap=True)
    table.add_column("change")
    return table


def lines(document: Mapping[str, Any]) -> list[str]:
    """What stands below the tables: what to type, how to undo it, costs and conditions."""
    found = [str(document["verdict"])]
    for row in document["advice"][:1]:
        found += [f"  {step['who']}: {step['command']}" for step in row["steps"]]
        found += [f"  if {text}" for text in row["preconditions"]]
        if row["undo"]:
            found += ["Undo:", *(f"  {text}" for text in row["undo"])]
        for cost in row["costs"] or ():
            certain = "" if cost["certain"] else " (not certain)"
            found.append(f"Cost, paid by {cost['who_pays']}: {cost['text']}{certain}.")
        if row["unless"]:
            found.append(f"Not if {' or '.join(row['unless'])}.")
        elif row["unless"] is not None:
            found.append(f"It gains, or is the same, under all {len(row['conditions'])} neighbouring conditions tried.")
    return [*found, *document["notes"]]


def page(document: Mapping[str, Any]) -> Page:
    """The report: an advice to hand on."""
    sections = []
    columns = [Column("rank"), Column("change", room="wide"), Column("who"), Column("gain", numeric=True)]
    columns += [Column("goodput", numeric=True), Column("sparse p95 RTT", numeric=True)]
    if document["advice"]:
        rows = []
        for row in document["advice"]:
            gain, changes = row["gain"], row["effect"]
            interval = f"{gain_text(gain['lo'])} .. {gain_text(gain['hi'])}"
            goodput, sparse = changes["goodput_bps"], changes.get("sparse_rtt_p95_ms") or {}
            rows.append(
                [
                    Cell(str(row["rank"]), note="tied" if row["tied_with"] else ""),
                    Cell(row["label"]),
                    Cell(row["who"]),
                    Cell(gain_text(gain["ratio"]), note=interval),
                    Cell(rate(goodput["advised"]), note=f"from {rate(goodput['baseline'])}"),
                    Cell(milliseconds(sparse.get("advised")), note=f"from {milliseconds(sparse.get('baseline'))}"),
                ]
            )
        sections.append(Section("Advice", [PageTable(columns, rows)]))
        first = document["advice"][0]
        typed = "\n".join(f"# {step['who']}\n{step['command']}" for step in first["steps"])
        undo = "\n".join(first["undo"])
        sections.append(Section("What to type", [Listing("Commands", typed), Listing("Undo", undo)]))
        if first["conditions"]:
            sections.append(Section("Under other conditions", [_conditions(first)]))
    sections.append(Section("Goodput and delay of all changes", [_pareto(document)]))
    rest = [
        [Cell(row["label"]), Cell(row["who"]), Cell(gain_text(row["gain"]), note=f"{row['n']} seeds"), Cell(row["why"])]
        for row in document["nothing_to_gain"]
    ]
    wanted = [Column("change", room="wide"), Column("who"), Column("gain", numeric=True), Column("why")]
    sections.append(Section("Not advised", [PageTable(wanted, rest)]))
    answer, *notes = lines(document)
    return Page(
        title=f"Advice for {document['title'] or document['what']}",
        subtitle=f"goal {document['goal']}; {', '.join(document['may'])} may act",
        answer=answer,
        because="",
        sections=sections,
        notes=notes,
        kind="advise",
    )


def _conditions(row: Mapping[str, Any]) -> PageTable:
    rows = [
        [
            Cell(one["condition"]),
            Cell(gain_text(one["gain"]), note=f"{gain_text(one['lo'])} .. {gain_text(one['hi'])}"),
            Cell("flips" if one["flips"] else "", tone="bad" if one["flips"] else ""),
        ]
        for one in row["conditions"]
    ]
    return PageTable([Column("condition", room="wide"), Column("gain", numeric=True), Column("")], rows)


def _pareto(document: Mapping[str, Any]) -> Chart:
    """Goodput over the p95 RTT of a sparse flow, a point for each change."""
    values = [
        {"change": point["label"], "goodput": point["goodput_bps"] / 1e6, "rtt": point["sparse_rtt_p95_ms"]}
        for point in document["points"]
    ]
    spec = {
        "data": {"values": values},
        "mark": {"type": "point", "filled": True, "size": 60, "tooltip": True},
        "encoding": {
            "x": {
                "field": "rtt",
                "type": "quantitative",
                "title": "p95 RTT of a sparse flow, ms",
                "scale": {"type": "log"},
            },
            "y": {"field": "goodput", "type": "quantitative", "title": "goodput, Mb/s", "scale": {"zero": False}},
            "tooltip": [{"field": name} for name in ("change", "goodput", "rtt")],
        },
        "width": 600,
        "height": 320,
    }
    return Chart("Goodput and delay", "Means of the runs of each change; up and left is better.", spec)
