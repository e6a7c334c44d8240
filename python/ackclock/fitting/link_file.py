"""The link file of a fit: an ordinary link with the parameters in a [fit] table, and the joint
draws beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.errors import InputError
from ackclock.fitting.parameters import DIRECTIONS, HOP, Parameter
from ackclock.input.scenario.link_draws import PS_PER_MS, draws_path
from ackclock.input.toml_writer import to_toml
from ackclock.input.units import show_rate, show_size, show_time

if TYPE_CHECKING:
    import polars as pl

JITTER_KINDS = {"high": "uniform", "sd": "normal", "mean": "exponential"}
"""The kind of jitter that has this parameter; the first that applies."""


def link_of(parameters: Sequence[Parameter], in_order: Mapping[str, bool], title: str) -> dict[str, Any]:
    """The link as the dict of a link file. `in_order`: whether jitter keeps the order, by
    direction.
    """
    used = {parameter.path.removeprefix(f"hop.{HOP}."): parameter.used for parameter in parameters}
    hop: dict[str, Any] = {"name": HOP}
    rates = {d: show_rate(round(rate)) for d in DIRECTIONS if (rate := used.get(f"rate.{d}"))}
    queues = {d: {"kind": "droptail", "bytes": show_size(round(used[f"queue.{d}.bytes"] or 0))} for d in rates}
    losses = {d: loss for d in DIRECTIONS if (loss := _loss(used, d))}
    jitters = {d: jitter for d in DIRECTIONS if (jitter := _jitter(used, d, in_order=in_order[d]))}
    if "delay" in used:
        delay: Any = _time(used["delay"] or 0.0)
    else:
        delay = {d: _time(used[f"delay.{d}"] or 0.0) for d in DIRECTIONS}
    reorders = {d: reorder for d in DIRECTIONS if (reorder := _reorder(used, d))}
    handovers = {d: handover for d in DIRECTIONS if (handover := _handover(used, d))}
    tables = {
        "rate": rates,
        "queue": queues,
        "loss": losses,
        "delay": delay,
        "jitter": jitters,
        "reorder": reorders,
        "handover": handovers,
    }
    return {"title": title, "hop": [{**hop, **{key: value for key, value in tables.items() if value}}]}


def _loss(used: Mapping[str, float | None], direction: str) -> dict[str, Any] | None:
    mean, sojourn = used.get(f"loss.{direction}.mean"), used.get(f"loss.{direction}.bad_sojourn")
    if not mean:
        return None
    if sojourn:
        return {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": _time(sojourn)}
    return {"kind": "bernoulli", "mean": mean}


def _jitter(used: Mapping[str, float | None], direction: str, *, in_order: bool) -> dict[str, Any] | None:
    of = {key: value for key in JITTER_KINDS if (value := used.get(f"jitter.{direction}.{key}"))}
    if not of:
        return None
    kind = next(kind for key, kind in JITTER_KINDS.items() if key in of)
    return {"kind": kind, **{key: _time(value) for key, value in of.items()}, "in_order": in_order}


def _reorder(used: Mapping[str, float | None], direction: str) -> dict[str, Any] | None:
    mean, delay = used.get(f"reorder.{direction}.mean"), used.get(f"reorder.{direction}.delay")
    return {"mean": mean, "delay": _time(delay)} if mean and delay else None


def _handover(used: Mapping[str, float | None], direction: str) -> dict[str, Any] | None:
    every, gap = used.get(f"handover.{direction}.every"), used.get(f"handover.{direction}.gap")
    return {"every": _time(every), "gap": _time(gap)} if every and gap else None


def _time(ms: float) -> str:
    """Milliseconds as a link file's time, in whole microseconds; at least one."""
    return show_time(max(1, round(ms * 1e3)) * (PS_PER_MS // 1000)) if ms > 0 else "0 s"


def to_text(link: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """The link file: the link, then the [fit] table."""
    head = {"inputs": document["inputs"], "remarks": document["remarks"]}
    tables = [f"[[fit.{name}]]\n{to_toml(row)}" for name in ("parameters", "not_identified") for row in document[name]]
    if document["score"] is not None:
        tables.append(f"[fit.score]\n{_without_none(document['score'])}")
    return "\n".join([to_toml(link), to_toml({"fit": head}), *tables])


def _without_none(score: Mapping[str, Any]) -> str:
    """The score as keys of one table."""
    return to_toml({"score": score}).removeprefix("[score]\n")


def draws_frame(parameters: Sequence[Parameter]) -> pl.DataFrame:
    """A column for each identified parameter, in its unit, and a row for each joint draw."""
    import polars as pl

    return pl.DataFrame({parameter.path: list(parameter.draws) for parameter in parameters if parameter.draws})


def write(
    path: Path, text: str, draws: pl.DataFrame, recordings: Mapping[Path, bytes] | None = None, *, force: bool = False
) -> list[Path]:
    """Write the link file, its draws and its recordings; return their paths.

    Raises:
        InputError: a file with other contents is there (without `force`), or it cannot be written.
    """
    from ackclock.storage.atomic_files import atomic_write, write_parquet

    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InputError(
            "no folder of this name" if not path.is_dir() else "a folder", "a file to write", file=str(path)
        )
    if path.exists() and path.read_bytes() != text.encode() and not force:
        raise InputError.problem(
            "another file is there", "name another one, or pass --force to replace it", file=str(path), option="-o"
        )
    # The link file last: it is complete when it is there.
    for file, content in (recordings or {}).items():
        atomic_write(file, content)
    write_parquet(draws_path(path), draws)
    atomic_write(path, text.encode())
    return [path, draws_path(path), *(recordings or {})]
