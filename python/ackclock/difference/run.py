"""`diff`: which figures of two runs of a kind, or of two captures, differ by more than chance."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.difference.figures import READERS, Figures, Where, capture_figures, file_figures, folder_figures
from ackclock.difference.result import Diff
from ackclock.errors import InputError, describe_path, native_errors
from ackclock.other_programs import sniffed
from ackclock.other_programs.read import files_in
from ackclock.statistics import Difference, Samples, differences
from ackclock.storage.remote_folder import finished, is_url
from ackclock.storage.run_kind import ANALYZE, SCHEDULE, kind_of

if TYPE_CHECKING:
    from ackclock.documents.diff import FigureDifference, RunDifference


def diff(a: str | Path, b: str | Path) -> Diff:
    """Compare two runs of a kind, or two captures, figure by figure.

    Args:
        a, b: run folders of `simulate`, `sweep`, `compare`, `analyze` or `measure`, both of one
            kind; or captures; or files of iperf3 (`iperf3 -J`) or Flent, or folders of such files.
            A capture and a folder of `analyze` are of one kind.

    Runs with the same seeds are compared seed by seed (paired t test), others by Welch's t test.
    The values are those of the seeds, of a capture those of flows to the same server port with data
    in the same direction, of a measurement those of its tests and transfers, of a folder of files
    of another program one for each file. All tests of a call
    are one family under Holm's correction: the probability that any figure differs by chance alone
    is at most 5 %.

    Returns:
        A Diff: `document` (docs/reference/diff.md), `metrics` (a Polars frame). `differs` of a
        figure is None where a side has one value.

    Raises:
        InputError: a path without a finished run or capture, runs of different kinds, a kind
            without a difference, or nothing in common.

    >>> import ackclock
    >>> found = ackclock.diff("runs/before", "runs/after")  # doctest: +SKIP
    >>> found.metrics.filter("differs").select("where", "metric", "difference")  # doctest: +SKIP
    """
    left, right = _read(a, "A"), _read(b, "B")
    if left.kind != right.kind:
        raise InputError.problem(
            f"A is of {_a_kind(left)} and B of {_a_kind(right)}",
            "give two runs of one kind, two captures, or tests of one program",
            option="B",
        )
    found_left, found_right = left.found(), right.found()
    common = [where for where in found_left if where in found_right]
    if not common:
        raise InputError.problem(
            f"A and B have no figures in common: A has {_places(found_left)}, B has {_places(found_right)}",
            "give runs with the same points or flows",
            option="B",
        )
    paired = left.seeds is not None and left.seeds == right.seeds
    samples = []
    for where in common:
        if paired:
            samples.append(Samples.paired(zip(left.samples[where], right.samples[where], strict=True)))
        else:
            samples.append(Samples(found_left[where], found_right[where]))
    rows = [_row(where, one) for where, one in zip(common, differences(samples), strict=True)]
    document: RunDifference = {
        "a": str(a),
        "b": str(b),
        "kind": left.kind,
        "unit": left.unit,
        "paired": paired,
        "correction": "Holm over all figures: the probability that any differs by chance alone is at most 5 %",
        "metrics": rows,
        "only_in_a": _only(found_left, found_right),
        "only_in_b": _only(found_right, found_left),
        "verdict": "",
    }
    return Diff({**document, "verdict": verdict(document)})


def verdict(document: RunDifference) -> str:
    """How many figures differ, in a sentence or two."""
    rows = document["metrics"]
    decided = [row for row in rows if row["differs"] is not None]
    differ = sum(bool(row["differs"]) for row in decided)
    unit = {"seed": "seeds", "flow": "flows that are not concurrent", "test": "tests"}[document["unit"]]
    sentences = []
    if rows and all(row["method"] == "equal" for row in rows):
        return "All figures are equal."
    if decided:
        figures = f"{differ} of {len(decided)} figures differ{'s' * (differ == 1)}" if differ else "No figure differs"
        sentences.append(f"{figures} by more than chance.")
    if left := len(rows) - len(decided):
        what = "All figures are" if not decided else f"{left} figure{' is' if left == 1 else 's are'}"
        sentences.append(f"{what} undecidable: a side has one value, which shows no chance; two {unit} or more do.")
    return " ".join(sentences)


def _read(path: str | Path, option: str) -> Figures:
    where = Path(path)
    if is_url(where):
        where = finished(path)
    if where.is_dir():
        kind = kind_of(where)
        if kind in READERS:
            return folder_figures(where, kind)
        if kind is not None:
            hint = "name the folder of one measurement in it" if kind == SCHEDULE else "give two runs of these"
            raise InputError.problem(
                f"{path} is of {kind.command}; diff compares {', '.join(known.command for known in READERS)}",
                hint,
                file=str(path),
                option=option,
            )
        if files := files_in(where):
            return file_figures(files)
    elif where.is_file():
        return file_figures([where]) if sniffed(where) else _capture(where)
    allowed = "a finished run folder, a capture, or a file of iperf3 or Flent"
    raise InputError(describe_path(where), allowed, file=str(path), option=option)


def _capture(path: Path) -> Figures:
    from ackclock.analysis.filter import PacketFilter, parse_filter
    from ackclock.analysis.run import PIECE, live_document, open_capture

    reader = open_capture(str(path), PacketFilter(parse_filter(None)))
    with native_errors(file=str(path)):
        while reader.advance(PIECE) == PIECE:
            pass
    reader.finish()
    return capture_figures(live_document(str(path), reader).flows_frame())


def _a_kind(figures: Figures) -> str:
    return "captures (analyze)" if figures.kind == ANALYZE.command else figures.kind


def _places(figures: dict[Where, Any]) -> str:
    places = list(dict.fromkeys(place for place, _ in figures))
    return "; ".join(places[:3]) + ("; .." if len(places) > 3 else "") if places else "none"


def _only(figures: dict[Where, Any], other: dict[Where, Any]) -> list[str]:
    """Places with figures on one side only."""
    places = {place for place, _ in other}
    return [place for place in dict.fromkeys(place for place, _ in figures) if place not in places]


def _row(where: Where, difference: Difference) -> FigureDifference:
    place, metric = where

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "metric": metric,
        "where": place,
        "a": number(difference.a),
        "b": number(difference.b),
        "difference": number(difference.value),
        "lo": number(difference.lo),
        "hi": number(difference.hi),
        "differs": difference.differs,
        "p": difference.p if difference.differs is not None else None,
        "n_a": difference.n[0],
        "n_b": difference.n[1],
        "method": difference.method,
    }
