"""Throughput models in reports: tables, charts and explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from ackclock.format import significant
from ackclock.report.cells import metric_cell
from ackclock.report.page import Cell, Column, Table
from ackclock.simulation.transport import control_text
from ackclock.statistics import interval

if TYPE_CHECKING:
    from ackclock.documents.parts import Estimate, Metrics
    from ackclock.documents.simulate import ExplainedRun
    from ackclock.plot.vega import Bar

MAX_BARS = 30
"""Maximum rows of a chart of goodputs; the table below it has all."""
MARK_READING = (
    "A hollow diamond is the goodput of a Reno flow with the same rate of loss events and the same "
    "mean RTT, by Padhye's model. A dot right of its diamond has more goodput than Reno would have "
    "at that loss rate; a dot left of it is limited by something other than losses. Without a loss "
    "there is no diamond."
)
RateModel = Literal["window_bps", "mathis_bps", "padhye_bps", "padhye_approx_bps", "cubic_bps"]
_MODELS: tuple[tuple[str, RateModel], ...] = (
    ("0.75 W/RTT", "window_bps"),
    ("Mathis", "mathis_bps"),
    ("Padhye, full", "padhye_bps"),
    ("Padhye, approximate", "padhye_approx_bps"),
    ("CUBIC", "cubic_bps"),
)


def bar(label: str, metrics: Metrics) -> Bar | None:
    """A row of the chart of goodputs: mean, interval, and the model's mean, if any.

    None without a goodput.
    """
    goodput, model = metrics.get("goodput_bps"), metrics.get("model_bps")
    if not goodput or goodput["mean"] is None:
        return None
    lo, hi = drawn_range(goodput)
    row: Bar = {"label": label, "mean": goodput["mean"] / 1e6, "lo": lo / 1e6, "hi": hi / 1e6}
    if model and model["mean"] is not None:
        row["model"] = model["mean"] / 1e6
    return row


def drawn_range(metric: Estimate) -> tuple[float, float]:
    """The ends of a metric's bar in a chart: its interval, or its modes, or few values that are far
    apart; the mean in place of an undefined end. Raises ValueError without a mean.
    """
    if (mean := metric["mean"]) is None:
        raise ValueError("a metric without a mean has no bar")
    apart = [mode["mean"] for mode in metric.get("modes", ())] or metric.get("values")
    lo, hi = (apart[0], apart[-1]) if apart else (metric["lo"], metric["hi"])
    return mean if lo is None else lo, mean if hi is None else hi


def bars_reading(rows: Sequence[Bar], reading: str) -> str:
    """The explanation of that chart, with the model's mark if it has one."""
    return f"{reading} {MARK_READING}" if any("model" in row for row in rows) else reading


def model_table(summaries: Sequence[ExplainedRun]) -> Table | None:
    """Every flow's goodput and each model's; None if no model applies."""
    flows = summaries[0]["flows"]
    known = [i for i in range(len(flows)) if any(summary["flows"][i].get("model") for summary in summaries)]
    if not known:
        return None
    columns = [Column("Flow"), Column("Goodput (Mb/s)", numeric=True), Column("Loss events", numeric=True)]
    columns += [Column(f"{name} (Mb/s)", numeric=True) for name, _ in _MODELS]
    rows = []
    for i in known:
        found = [summary["flows"][i].get("model") for summary in summaries]
        losses = interval(model and model["loss"] for model in found)
        rows.append(
            [
                Cell(str(flows[i]["flow"]), control_text(flows[i])),
                metric_cell(_mean(summary["flows"][i]["goodput_bps"] for summary in summaries), 1e-6),
                Cell(significant(losses.mean, 2), "per segment"),
                *(metric_cell(_mean(model and model[key] for model in found), 1e-6) for _, key in _MODELS),
            ]
        )
    return Table(
        columns,
        rows,
        "Goodput by each model, from the flow's loss events (window cuts) and mean RTT; W in 0.75 "
        "W/RTT is the socket buffer. Reno is expected near Padhye, CUBIC near the larger of "
        "CUBIC's model and Padhye. A goodput far above the models is not limited by losses; one "
        "far below is limited by something else.",
    )


def _mean(values: Iterable[float | None]) -> Estimate:
    return interval(values, scale="log").as_json()


def model_levels(summary: ExplainedRun) -> dict[str, float]:
    """The model's rates in Mb/s by flow, for the chart of goodput."""
    models = {flow["flow"]: flow.get("model") for flow in summary["flows"]}
    rates = {name: model["padhye_bps"] for name, model in models.items() if model}
    return {name: rate / 1e6 for name, rate in rates.items() if rate is not None}
