"""Figures over one run folder or several: distributions, boxes, lines over time, and clouds of
points, with a colour for one key and a panel for each combination of the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.axis_titles import column_title, key_title, point_label, with_unit, within
from ackclock.errors import InputError, RunFailed, choices, format_value, not_writable
from ackclock.format import setting
from ackclock.report.files import DARK
from ackclock.report.samples import (
    FIGURES,
    QUANTITIES,
    figure_column,
    figure_names,
    of_runs,
    over_time,
    varied_keys,
)

if TYPE_CHECKING:
    import polars as pl

    from ackclock.plot.distribution import Group, Titles
    from ackclock.plot.figure import Plot
    from ackclock.plot.vega import Specification

KINDS = ("cdf", "box", "series", "scatter")
FORMATS = ("svg", "pdf", "png", "csv", "html")
SIZES = {"page": (700, 0), "column": (270, 150), "slide": (900, 420)}
"""Width and height of the drawing in pixels, without axes; 0 is what suits it. A paper's column is
88 mm wide, 336 pixels with its axes.
"""
NO_TITLE = "column"
"""At this size the paper's caption has the title."""
MAX_LINES = 14
MAX_COLOURS = 7
MAX_PANELS = 30
MAX_SAMPLES = 400
"""Points of a line over time."""
_LEFT_OUT = re.compile(r"The first \d+ of \d+ [^.;]*")
"""What a figure says of lines and panels that it has no room for."""
RUN = "run folder"
"""The column with the name of a run folder."""
_BY = ("flow", "direction", "hop", "seed", "variant")
"""Keys of rows that may have the colours, beside the varied keys and the run."""


@dataclass(frozen=True)
class Asked:
    """What to draw. ``x`` and ``y`` are quantities or figures, ``by`` is the key of the colours;
    empty: the usual one. ``size`` is one of `SIZES`, or "WIDTHxHEIGHT" in pixels.
    """

    kind: str
    x: str = ""
    y: str = ""
    by: str = ""
    size: str = "page"

    def check(self) -> None:
        """Raise InputError for a kind, an axis or a size that does not exist."""
        if self.kind not in KINDS:
            raise InputError(format_value(self.kind), choices(KINDS, self.kind), option="--plot")
        if self.kind in ("cdf", "box") and self.x and self.y:
            raise InputError.problem(f"--plot {self.kind} has one quantity", "give either --x or --y", option="--y")
        _ = self.pixels

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height of the drawing."""
        if self.size in SIZES:
            return SIZES[self.size]
        width, _, height = self.size.partition("x")
        if width.isdecimal() and height.isdecimal() and 100 <= int(width) <= 4000 and 60 <= int(height) <= 4000:
            return int(width), int(height)
        allowed = f"{', '.join(SIZES)}, or WIDTHxHEIGHT in pixels, such as 600x300"
        raise InputError(format_value(self.size), allowed, option="--size")

    @property
    def file_stem(self) -> str:
        """The name of its file, without the format."""
        axes = [self.y, self.x] if self.kind == "scatter" else [self.x if self.kind in ("cdf", "box") else self.y]
        parts = [self.kind, *(axis or usual for axis, usual in zip(axes or [""], _usual(self.kind), strict=False))]
        if self.kind in ("cdf", "box") and self.y:
            parts[1] = self.y
        if self.kind == "series" and self.x not in ("", "time"):
            parts += ["over", self.x.rpartition(".")[2]]
        return "-".join([*parts, *(["by", self.by.rpartition(".")[2]] if self.by else [])]).replace("_", "-")


def _usual(kind: str) -> list[str]:
    return {"scatter": ["goodput", "rtt"], "series": ["goodput"]}.get(kind, ["rtt"])


def plot_of_runs(folders: Sequence[Path], asked: Asked) -> Plot:
    """The figure of some finished runs.

    Raises:
        InputError: an unknown kind, quantity, key or size, or a folder without a finished run.
        RunFailed: no run has the quantity.
        ImportError: the extra `plot` is not installed.
    """
    from ackclock.plot.figure import Plot
    from ackclock.result_folder import open_folder

    asked.check()
    names = _folder_names(folders)
    results = {name: open_folder(folder) for name, folder in zip(names, folders, strict=True)}
    if asked.kind == "series" and asked.x not in ("", "time"):
        spec, title, conditions = _over_key(results, asked)
    else:
        frames = {name: result.frames for name, result in results.items()}
        spec, title, conditions = _scatter(frames, asked) if asked.kind == "scatter" else _samples(frames, asked)
    if asked.size == NO_TITLE:
        plot = Plot([spec])
    else:
        single = [result._title() for result in results.values()] if len(results) == 1 else []
        plot = Plot([spec], title, ". ".join(filter(None, [*single, conditions])))
    plot.left_out = next(iter(_LEFT_OUT.findall(conditions)), "")
    return plot


def write_plot(
    folders: Sequence[Path],
    asked: Asked,
    format_: str = "svg",
    out: Path | None = None,
    *,
    dark: bool = False,
    note: Callable[[str], object] | None = None,
) -> Path:
    """Write that figure, for dark paper if asked for, and return its path: ``out``, or a file in it
    if it is a folder; by default a file in ``figures`` of the first run. ``note`` is called with
    what the figure has no room for, if that is something.

    Raises:
        InputError: as `plot_of_runs`, or another format.
        RunFailed: as `plot_of_runs`, or the extra `plot` is not installed.
    """
    if format_ not in FORMATS:
        raise InputError(format_value(format_), choices(FORMATS, format_), option="--format")
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise RunFailed(
            f"figures require altair and vl-convert ({error})", "pip install 'ackclock[report]'", option="--plot"
        ) from None
    plot = plot_of_runs(folders, asked)
    plot.dark = dark
    if plot.left_out and note:
        note(plot.left_out)
    if out is not None and out.suffix.removeprefix(".") in FORMATS:
        target = out
    else:
        target = (folders[0] / "figures" if out is None else out) / f"{asked.file_stem}{DARK if dark else ''}.{format_}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return plot.save(target)
    except OSError as error:
        raise not_writable(error, str(target)) from error


def _folder_names(folders: Sequence[Path]) -> list[str]:
    """The folders' names, with as many of their parents as make them differ."""
    for parts in range(1, 8):
        names = ["/".join(folder.resolve().parts[-parts:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    raise InputError.problem("a run is named twice", "name each run once", option="RUN")


def _samples(frames: Mapping[str, Any], asked: Asked) -> tuple[Specification, str, str]:
    """A figure of samples: over time, or of a figure of each run."""
    from ackclock.plot import distribution

    name = (asked.y or asked.x if asked.kind != "series" else asked.y) or _usual(asked.kind)[0]
    timed = name in QUANTITIES
    rows = _of_each(frames, lambda of: over_time(of, name) if timed else _figure_rows(of, {"value": name}))
    if rows is None:
        raise _unknown(name, frames, asked)
    title, unit = (QUANTITIES[name].title, QUANTITIES[name].unit) if timed else _title_of(name, frames)
    place = _Place.of(rows, frames, asked.by)
    titles = distribution.Titles(with_unit(title, unit), "", place.line_title, place.panels_title)
    width, height = asked.pixels
    conditions = place.conditions(rows)
    if asked.kind == "series":
        if not timed:
            raise _unknown(name, {}, asked)
        return _over_time(rows, place, titles, asked, summed=name == "goodput"), f"{title} over time", conditions
    groups = place.groups(rows)
    if asked.kind == "cdf":
        return distribution.cdf(groups, titles, width, height), f"Distribution of the {within(title)}", conditions
    return distribution.boxes(groups, titles, width), title, f"{conditions} {BOX_READING}".strip()


def _over_key(results: Mapping[str, Any], asked: Asked) -> tuple[Specification, str, str]:
    """A figure of a sweep's points over a swept number, with a line for each value of another."""
    from ackclock.plot.sweep_chart import swept
    from ackclock.simulation.sweep_curves import curve, number_keys

    cells = next(iter(results.values())).document.get("cells") or ()
    if len(results) > 1 or not cells or "params" not in cells[0]:
        raise InputError(format_value(asked.x), '"time"; a swept key, if RUN is one finished sweep', option="--x")
    x = _swept_key(asked.x, number_keys(cells), "--x")
    by = _swept_key(asked.by, [key for key in cells[0]["params"] if key != x], "--by") if asked.by else ""
    name = asked.y or "goodput"
    column = next((column for column in (name, *FIGURES.get(name, ())) if column in cells[0]["metrics"]), None)
    if column is None:
        raise InputError(format_value(name), choices([*FIGURES, *cells[0]["metrics"]], name), option="--y")
    title, reading, figure = curve(cells, x, (column, *column_title(column)), by)
    return swept(figure, *asked.pixels), title, reading


def _swept_key(name: str, known: Sequence[str], option: str) -> str:
    """The swept key that a name or its last parts stand for. Raises InputError for another one."""
    found = [key for key in known if key == name or key.endswith(f".{name}")]
    if len(found) != 1:
        raise InputError(
            format_value(name), choices(["time", *known] if option == "--x" else known, name), option=option
        )
    return found[0]


BOX_READING = "Boxes: median and quartiles; lines: from the 5th to the 95th percentile."


def _over_time(rows: pl.DataFrame, place: _Place, titles: Titles, asked: Asked, *, summed: bool) -> Specification:
    """Lines over time of the lowest seed; flows of a line are added up, or their mean is drawn."""
    import polars as pl

    from ackclock.plot.sweep_chart import CurvePoint, Curves, swept

    if "seed" in rows.columns:
        rows = rows.filter((pl.col("seed") == pl.col("seed").min().over(RUN)) | pl.col("seed").is_null())
    rows = rows.with_columns(pl.col("time_s").round(4))
    points: list[CurvePoint] = []
    for line, panel, own in place.parts(rows):
        value = pl.col("value").sum() if summed else pl.col("value").mean()
        joined = own.group_by("time_s").agg(value).sort("time_s")
        if summed:
            joined = _with_zeros(joined)
        thin = joined.gather_every(max(1, -(-joined.height // MAX_SAMPLES)))
        for time, at in thin.iter_rows():
            point: CurvePoint = {"line": line, "x": time, "y": float(f"{at:.5g}"), "lo": None, "hi": None}
            points.append({**point, "panel": panel} if panel else point)
    figure: Curves = {
        "x": "Time (s)",
        "y": titles.x,
        "log_x": False,
        "rows": points,
        "trace": True,
        "lines": titles.lines,
        "panels": titles.panels,
    }
    return swept(figure, *asked.pixels)


def _with_zeros(rates: pl.DataFrame) -> pl.DataFrame:
    """A rate over time with zeros at both ends of each time in which no flow has one."""
    import polars as pl

    steps = rates["time_s"].diff().drop_nulls()
    if steps.is_empty():
        return rates
    step = float(steps.min() or 0.0)  # type: ignore[arg-type]
    gaps = rates.with_columns(pl.col("time_s").shift(-1).alias("next_s")).filter(
        pl.col("next_s") - pl.col("time_s") > 1.5 * step
    )
    edges = [time for start, end in gaps.select("time_s", "next_s").iter_rows() for time in (start + step, end - step)]
    zeros = pl.DataFrame({"time_s": edges, "value": [0.0] * len(edges)}, schema=rates.schema)
    return pl.concat([rates, zeros]).unique("time_s", keep="first").sort("time_s")


def _scatter(frames: Mapping[str, Any], asked: Asked) -> tuple[Specification, str, str]:
    from ackclock.plot import distribution

    axes = {"x": asked.x or "rtt", "y": asked.y or "goodput"}
    rows = _of_each(frames, lambda of: _figure_rows(of, axes))
    if rows is None:
        missing = next(
            (axis for axis in axes.values() if not any(figure_column(of, axis) for of in frames.values())), axes["x"]
        )
        raise _unknown(missing, frames, asked)
    place = _Place.of(rows, frames, asked.by)
    (x, x_unit), (y, y_unit) = (_title_of(axis, frames) for axis in axes.values())
    titles = distribution.Titles(with_unit(x, x_unit), with_unit(y, y_unit), place.line_title, place.panels_title)
    points: list[dict[str, float | str]] = []
    for line, panel, own in place.parts(rows):
        for at_x, at_y in own.select("x", "y").iter_rows():
            point: dict[str, float | str] = {"line": line, "x": float(f"{at_x:.5g}"), "y": float(f"{at_y:.5g}")}
            points.append({**point, "panel": panel} if panel else point)
    of_what = "run" if all("runs" in of for of in frames.values()) else "flow of a run"
    reading = f"A small point for each {of_what}, a large one for the mean."
    conditions = f"{place.conditions(rows)} {reading}".strip()
    return distribution.scatter(points, titles, *asked.pixels), f"{y} against {within(x)}", conditions


def _of_each(frames: Mapping[str, Any], rows_of: Callable[[Any], pl.DataFrame | None]) -> pl.DataFrame | None:
    """The rows of all runs, with keys as text and the run's name; None without any."""
    import polars as pl

    tables = []
    for run, of in frames.items():
        found = rows_of(of)
        if found is not None and not found.is_empty():
            tables.append(_worded(found, of).with_columns(pl.lit(run).alias(RUN)))
    return pl.concat(tables, how="diagonal_relaxed") if tables else None


def _figure_rows(frames: Mapping[str, Any], names: Mapping[str, str]) -> pl.DataFrame | None:
    """The rows of runs with some figures as columns, in the units of axes; None where one is
    missing.
    """
    import polars as pl

    table = of_runs(frames)
    columns = {to: figure_column(frames, name) for to, name in names.items()}
    if table is None or None in columns.values():
        return None
    keys = [name for name in (*varied_keys(frames), *_BY) if name in table.columns]
    values = [
        (pl.col(column).cast(pl.Float64) * column_title(column)[2]).alias(to)
        for to, column in columns.items()
        if column
    ]
    return table.select(*dict.fromkeys(keys), *values).drop_nulls(list(columns)).drop_nans(list(columns))


def _worded(rows: pl.DataFrame, frames: Mapping[str, Any]) -> pl.DataFrame:
    """The rows with the varied keys and the other keys as text."""
    import polars as pl

    keys = [name for name in dict.fromkeys([*varied_keys(frames), *_BY]) if name in rows.columns and name != "seed"]
    if {"send_buffer", "receive_buffer"} <= set(keys) and (rows["send_buffer"] == rows["receive_buffer"]).all():
        rows, keys = rows.drop("receive_buffer"), [key for key in keys if key != "receive_buffer"]
    if "delayed_ack" in keys and rows.schema["delayed_ack"] == pl.Boolean:
        words = pl.when("delayed_ack").then(pl.lit("on")).otherwise(pl.lit("off"))
        rows = rows.with_columns(words.alias("delayed_ack"))
    return rows.with_columns(
        pl.col(name).map_elements(_text, return_dtype=pl.String, skip_nulls=True).alias(name)
        if not rows.schema[name].is_numeric() and rows.schema[name] != pl.String
        else pl.col(name).cast(pl.String)
        for name in keys
    )


def _text(value: Any) -> str:
    plain = value.to_list() if hasattr(value, "to_list") else value
    return setting(plain) if not isinstance(plain, dict) else json.dumps(plain)


def _title_of(name: str, frames: Mapping[str, Any]) -> tuple[str, str]:
    column = next((found for of in frames.values() if (found := figure_column(of, name))), name)
    title, unit, _ = column_title(column)
    return title, unit


def _unknown(name: str, frames: Mapping[str, Any], asked: Asked) -> InputError | RunFailed:
    """The error of a quantity that no run has, or that does not exist."""
    if name in QUANTITIES and asked.kind != "scatter":
        having = [one for one in QUANTITIES if any(over_time(of, one) is not None for of in frames.values())]
        remedy = f"they have {', '.join(having)}" if having else "`ackclock show RUN` prints what they have"
        return RunFailed(f"no run has samples of {name}", remedy, option="--plot")
    figures = [*FIGURES, *(column for of in frames.values() for column in figure_names(of))]
    known = list(dict.fromkeys([*(QUANTITIES if asked.kind != "scatter" else ()), *figures]))
    option = "--y" if asked.y == name else "--x"
    return InputError(format_value(name), choices(known, name), option=option)


@dataclass(frozen=True)
class _Place:
    """Which keys have the colours and the panels."""

    colour: str
    panels: tuple[str, ...]

    @classmethod
    def of(cls, rows: pl.DataFrame, frames: Mapping[str, Any], by: str) -> _Place:
        """The key that was asked for as the colour, or the usual one, and panels for the others
        that vary.
        """
        varied = list(dict.fromkeys(key for of in frames.values() for key in varied_keys(of)))
        counts = {key: rows[key].n_unique() for key in (RUN, *varied, *_BY) if key in rows.columns}
        several = [RUN] if len(frames) > 1 else []
        varying = [key for key in (*several, *varied) if counts.get(key, 1) > 1]
        if by:
            colour = _key_named(by, list(counts))
        elif varying:
            few = [key for key in varying if counts[key] <= MAX_COLOURS] or varying[:1]
            colour = max(few, key=lambda key: (key == RUN, key.endswith("variant"), counts[key]))
        else:
            colour = next((key for key in ("flow", "direction") if counts.get(key, 1) > 1), "")
        return cls(colour, tuple(key for key in varying if key != colour))

    @property
    def line_title(self) -> str:
        return "" if self.colour in ("", RUN) else key_title(self.colour)

    @property
    def panels_title(self) -> str:
        return key_title(self.panels[0]) if len(self.panels) == 1 and self.panels[0] != RUN else ""

    def parts(self, rows: pl.DataFrame) -> list[tuple[str, str, pl.DataFrame]]:
        """The line, the panel and the rows of each combination, at most `MAX_LINES` lines and
        `MAX_PANELS` panels.
        """
        keys = [key for key in (self.colour, *self.panels) if key]
        if not keys:
            return [("all", "", rows)]
        parts = []
        for values, own in rows.group_by(keys, maintain_order=True):
            texts = ["-" if value is None else setting(value) for value in values]
            line = texts[0] if self.colour else "all"
            parts.append((line, self._panel(texts[1:] if self.colour else texts), own))
        max_lines = MAX_COLOURS if self.panels else MAX_LINES
        lines, panels = (
            list(dict.fromkeys(part[at] for part in parts))[:limit] for at, limit in ((0, max_lines), (1, MAX_PANELS))
        )
        return [part for part in parts if part[0] in lines and part[1] in panels]

    def _panel(self, texts: Sequence[str]) -> str:
        if len(texts) < 2:
            return "".join(texts)
        named = dict(zip(self.panels, texts, strict=True))
        return ", ".join(filter(None, (named.pop(RUN, ""), point_label(named))))

    def groups(self, rows: pl.DataFrame) -> list[Group]:
        """The samples of each part."""
        from ackclock.plot.distribution import Group

        return [Group(line, panel, own["value"].to_list()) for line, panel, own in self.parts(rows)]

    def conditions(self, rows: pl.DataFrame) -> str:
        """What was left out; empty for nothing."""
        keys = [key for key in (self.colour, *self.panels) if key]
        counts = rows.select(keys).n_unique() if keys else 1
        shown = len(self.parts(rows))
        return f"The first {shown} of {counts} combinations." if shown < counts else ""


def _key_named(name: str, known: Sequence[str]) -> str:
    """The key that a name or its last part stands for. Raises InputError for another one."""
    if name == "run":
        return RUN
    found = [key for key in known if key == name] or [key for key in known if key.endswith(f".{name}")]
    if len(found) != 1:
        raise InputError(
            format_value(name), choices([("run" if key == RUN else key) for key in known], name), option="--by"
        )
    return found[0]
