"""`fit`: a link file from captures of both ends of a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ackclock.analysis.clocks import clocks_of
from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.documents.parts import DIRECTIONS
from ackclock.errors import InputError, choices
from ackclock.fitting import aqm, measurement_link, media, medium_fit, one_end, prediction, recorded_rate
from ackclock.fitting.engine import engine_fit
from ackclock.fitting.hop import FittedHop, LinkDescription, hop_of, used_values
from ackclock.fitting.link_file import check_place, draws_frame, to_text, write
from ackclock.fitting.parameters import DRAWS, Parameter, parameters_of, serves_others
from ackclock.fitting.result import Fit
from ackclock.fitting.sender_end import SenderEnd, beside_others, losses_alone
from ackclock.fitting.sender_end import rows_of as rows_of_sender
from ackclock.format import percent
from ackclock.format import rate as rate_text
from ackclock.input import catalogue
from ackclock.input.objects import Grants, Link
from ackclock.input.units import show_size

if TYPE_CHECKING:
    from ackclock.documents.engine import LinkFit, RunReport
    from ackclock.documents.fit import FitScore, FittedInput, FittedLink
    from ackclock.documents.measure import Measurement

SEED = 1
MEASURE_CAPTURES = ("capture.pcap", "capture-far.pcap")
"""Captures of both ends in a folder of `measure`."""
NO_FORM = (
    "this link cannot be of this form: what it predicts is not what was captured; the path has something that a link of one "
    "hop has not"
)
MIN_PACKETS = 100
"""Minimum number of packets in a direction: a handshake and a few segments show no rate."""


def fit(
    *captures: str | Path,
    out: str | Path | None = None,
    filter: str | None = None,
    synchronized: str | float | None = None,
    seed: int | None = None,
    force: bool = False,
    score: bool = True,
    variant: str | None = None,
) -> Fit:
    """Fit a link to captures of TCP transfers from both ends of its path.

    Args:
        captures: two captures of the same connections, one from each end, in any order; or several
            such pairs over the same path, which are pooled; or one capture of one end, whose link
            has wider intervals. A run folder of `simulate`, `emulate` or `measure` stands for the
            captures in it. A run or schedule folder of `measure` without captures of both ends
            stands for its statements: capacity, queue, loss, delays.
        out: the link file to write; the joint draws are written beside it, as NAME.draws.parquet.
            Nothing is written without it.
        filter: only flows with such ends, as for `analyze`.
        synchronized: all clocks are right within this (seconds, or such as ``100 us``): the delays
            of both directions are then known separately.
        seed: of the bootstrap and the draws; default 1.
        force: replace another file that is in `out`.
        score: hold out the last part of the input, fit the rest, and compare a simulation of the
            held-out part with the captures (some seconds).
        variant: the sender's congestion control, for that simulation; default: the one of cubic,
            reno and bbr that fits the first part best.

    Returns:
        A Fit: `link`, `document`, `parameters` and `draws` (Polars frames).

    Raises:
        InputError: no capture, one that cannot be read, captures without packets in
            common, too few packets, or another file in `out`. Nothing is written then.

    >>> import ackclock
    >>> fitted = ackclock.fit("client.pcap", "server.pcap", out="link.toml")  # doctest: +SKIP
    >>> fitted.parameters.select("path", "value", "lo", "hi")  # doctest: +SKIP
    """
    seed = SEED if seed is None else seed
    if out is not None:
        check_place(Path(out))
    measurements = [measured for capture in captures if (measured := _measurement(Path(capture))) is not None]
    if measurements:
        folders = [Path(capture) for capture in captures]
        title = f"Fitted to {', '.join(folder.name for folder in folders)}"
        return _finished(title, *_of_measurements(folders, measurements, seed, score=score), out, force=force)
    names = [name for capture in captures for name in captures_of(Path(capture))]
    _check(names)
    clocks = clocks_of((), synchronized, 2)
    if variant is not None and variant not in catalogue.variants():
        raise InputError(f'"{variant}"', choices(catalogue.variants(), variant), option="--variant")
    title = f"Fitted to {', '.join(Path(name).name for name in names)}"
    if len(names) == 1:
        end = one_end.read(names[0], filter)
        found, no_score = _of_one_end(end, filter, variant, seed), "one end alone is fitted to all of its capture"
        return _finished(title, one_end.document_inputs(end), found, (None, no_score), out, force=force)
    only = PacketFilter(parse_filter(filter))
    reported = engine_fit(names, [only] * len(names), clocks.error_s, seed)
    fitted, runs = reported["fit"], reported["runs"]
    down, up = fitted["down"]["packets"], fitted["up"]["packets"]
    if min(down, up) < 1 or down + up < MIN_PACKETS or not _shows_link(fitted):
        raise InputError.problem(
            f"no bulk transfer: the captures have {down} packets down and {up} up in common, of "
            f"{show_size(fitted['down']['bytes'])} and {show_size(fitted['up']['bytes'])}",
            one_end.BULK,
            option="CAPTURE",
        )
    ends = _ends(names, runs[0], filter, clocks.error_s)
    found = _link(fitted, ends, None, variant)
    scored = _score(runs[0], ends, variant) if score else (None, "")
    if scored[0] is not None and scored[0]["good_for"] == "nothing":
        found = replace(found, remarks=[*found.remarks, NO_FORM])
    return _finished(title, _inputs(names, runs), found, scored, out, force=force)


def _shows_link(fitted: LinkFit) -> bool:
    """A queue stood, or full segments went in one direction: typing and requests show no link."""
    if any(fitted[d]["rate"]["evidence"]["gaps"] or fitted[d]["policer"] is not None for d in DIRECTIONS):
        return True
    larger = max((fitted[d] for d in DIRECTIONS), key=lambda one: one["bytes"])
    is_full = larger["base_delay"]["evidence"]["len"] >= one_end.MIN_SEGMENT_BYTES
    return is_full and larger["bytes"] >= one_end.MIN_BULK_BYTES


Scored = tuple["FitScore | None", str]
"""The score of a fit; None, with the reason."""


def _finished(
    title: str,
    inputs: list[FittedInput],
    found: LinkDescription,
    scored: Scored,
    out: str | Path | None,
    *,
    force: bool,
) -> Fit:
    """The result; writes the link file if `out` is given."""
    draws = draws_frame(found.parameters)
    named, placed, recordings = recorded_rate.beside(found.hop, Path(out or "link.toml"))
    shown = (found.hop if out is None else placed).link(title).to_dict()
    document: FittedLink = {
        "title": title,
        "inputs": inputs,
        "link": shown,
        "parameters": [parameter.row() for parameter in found.parameters],
        "not_identified": [parameter.not_identified() for parameter in found.parameters if parameter.why],
        "remarks": found.remarks,
        "score": scored[0],
        "no_score": scored[1],
    }
    text = to_text(named.link(title), document)
    if out is not None:
        write(Path(out), text, draws, recordings, force=force)
    return Fit(document, Link(shown["hop"], title), text, draws, None if out is None else Path(out))


def _of_one_end(end: one_end.OneEnd, only: str | None, variant: str | None, seed: int) -> LinkDescription:
    """The link of a capture of one end.

    At the sender, ACKs show the arrivals. At the receiver, or if replays of the link that ACKs show
    are not like the input, replays over a rate, a queue and a loss show the link.
    """
    found = _by_acks(end, only, variant, seed) if end.is_sender else None
    far = one_end.distance_of(end, found.hop, variant) if found else math.inf
    if found is not None:
        differing = [one_end.unlike(far)] if far > one_end.MAX_DISTANCE else []
        found = replace(found, parameters=one_end.agreed(found.parameters, far), remarks=[*found.remarks, *differing])
    if found is not None and far <= one_end.MAX_DISTANCE:
        return found
    replayed, replayed_far = one_end.fit_one_end(end, variant, DRAWS, seed)
    return replayed if found is None or replayed_far < far else found


def _by_acks(end: one_end.OneEnd, only: str | None, variant: str | None, seed: int) -> LinkDescription | None:
    """The link by the ACKs at the sender; None if they show no rate."""
    data = end.seen.direction
    source = SenderEnd(end.capture, only, data)
    fitted = source.link_fit(None, DRAWS, seed)
    if fitted is None or (fitted[data]["rate"]["value"] is None and fitted[data]["policer"] is None):
        return None
    found = _link(fitted, source, None, variant)
    rows = [
        one_end.rate_of_window(end, row)
        if row.key == f"rate.{data}" and fitted[data]["rate"]["evidence"]["method"] == "mean"
        else row
        for row in rows_of_sender(found.parameters, fitted, data)
    ]
    rows = beside_others(rows, fitted, data, end.rate_bps)
    return LinkDescription(rows, found.hop, [*one_end.remarks(end), *found.remarks])


def _measurement(path: Path) -> list[Measurement] | None:
    """The documents of a measurement or a schedule without captures of both ends; None for any
    other input.
    """
    if not path.is_dir() or all((path / name).is_file() for name in MEASURE_CAPTURES):
        return None
    return measurement_link.documents(path)


def _of_measurements(
    folders: Sequence[Path], found: Sequence[Sequence[Measurement]], seed: int, *, score: bool
) -> tuple[list[FittedInput], LinkDescription, Scored]:
    """The inputs of the document, the link of folders of `measure`, and its score."""
    if len(found) < len(folders):
        raise InputError.problem(
            "measurements and captures together", "give folders of `measure` alone, or captures alone", option="CAPTURE"
        )
    documents = [document for own in found for document in own]
    fitted = measurement_link.measured_link(documents, seed)
    inputs: list[FittedInput] = [
        {
            "capture": str(folder),
            "run": run,
            "end": "client",
            "flows": len(one["flows"]),
            "duration_s": one["seconds"],
        }
        for folder, own in zip(folders, found, strict=True)
        for run, one in enumerate(own, start=1)
    ]
    return inputs, fitted, measurement_link.score(documents, fitted.hop.link()) if score else (None, "")


def captures_of(path: Path) -> list[str]:
    """The captures of a run folder; a file is a capture itself.

    Raises:
        InputError: a folder without captures of both ends.
    """
    if not path.is_dir():
        return [str(path)]
    patterns = ("captures/*.pcapng", "captures/*.pcap", *MEASURE_CAPTURES)
    found = [str(file) for pattern in patterns for file in sorted(path.glob(pattern))]
    if not found:
        raise InputError.problem(
            "no captures in the folder",
            "run `simulate` with --pcap, `emulate` with its log, or `measure` with --capture and --capture-far",
            file=str(path),
            option="CAPTURE",
        )
    return found


def _check(names: list[str]) -> None:
    if not names:
        raise InputError.problem(
            "no capture given", "give a capture of the same connections from each end, or of one end", option="CAPTURE"
        )
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError.problem("the same capture twice", "give one from each end", file=name, option="CAPTURE")


def _ends(names: list[str], run: RunReport, only: str | None, error_s: float | None) -> prediction.Ends:
    """The captures of a run, from its first pair on."""
    pairs = sorted(zip(run["starts_s"], run["captures"], strict=True))
    (_, (server, client)), *others = pairs
    beside = tuple((names[server], names[client], start) for start, (server, client) in others)
    return prediction.Ends(names[server], names[client], only, error_s, beside)


def _link(fitted: LinkFit, source: prediction.Source, until_s: float | None, variant: str | None) -> LinkDescription:
    """The link that the engine's fit describes, by the input until `until_s`.

    Replays of the transfers of `source` show the medium of a link that sends at fixed times, and
    the kind of a queue that drops below the backlogs that it accepts.
    """
    parameters, hop = _direct(fitted)
    texts: list[str] = []
    if not recorded_rate.recorded_directions(fitted) and (likely := media.candidates(fitted)):
        part = min(until_s or medium_fit.REPLAYED_S, medium_fit.REPLAYED_S)
        bulk, replayed = source.transfers(None, part), source.link_fit(part, 2, SEED)
        # Replays of several flows have a file each, and one end is fitted by one.
        has_file = not isinstance(source, SenderEnd) or (bulk is not None and bulk.flows == 1)
        if bulk is not None and replayed is not None and has_file:
            medium = medium_fit.recognise(likely, replayed, hop, bulk, source, variant, DRAWS, SEED)
            if isinstance(medium, medium_fit.MediumFit):
                texts = [*_remarks(fitted, medium.hop), *medium_fit.remarks(medium)]
                return LinkDescription(medium.parameters(parameters), medium.hop, texts)
            if medium is not None:
                # Nothing else explains a rate that varies: a recording of it does.
                fitted = recorded_rate.without_frames(fitted)
                parameters, hop = _direct(fitted)
                texts = [medium.remark()]
    texts = [*_remarks(fitted, hop), *texts]
    fitted = recorded_rate.with_recordings(fitted)
    early = [
        d for d in DIRECTIONS if (queue := fitted[d]["queue"]) and queue["evidence"]["finding"] == "no-sharp-limit"
    ]
    seen = source.transfers(None, until_s) if early else None
    if seen is None or seen.direction not in early:
        return LinkDescription(parameters, hop, texts)
    kind = aqm.recognise(hop, seen, variant, flow_queues=fitted[seen.direction]["flow_queues"])
    if isinstance(source, SenderEnd):
        # Without the other end's times, a queue that is hardly seen does not explain its losses.
        alone = source.link_fit(until_s, DRAWS, SEED, queue_drops=False)
        assert alone is not None
        lossy = losses_alone(alone, hop, seen, variant)
        if lossy.is_better(kind):
            return LinkDescription(lossy.rows(parameters), lossy.hop, texts)
    if kind.is_clear:
        parameters = [
            *aqm.without_limit(parameters, hop, seen.direction),
            *kind.parameters(hop, seen.direction),
        ]
        hop = kind.hop(hop, seen.direction)
    return LinkDescription(parameters, hop, texts)


def _direct(fitted: LinkFit) -> tuple[list[Parameter], FittedHop]:
    """The parameters and the hop that the captures show without a replay."""
    found = recorded_rate.with_recordings(fitted)
    parameters = recorded_rate.rows_of(parameters_of(found), found)
    unordered = [direction for direction in DIRECTIONS if found[direction]["jitter"]["in_order"] is False]
    cells: dict[str, str] = {
        direction: framing["cells"] for direction in DIRECTIONS if (framing := found[direction]["framing"])
    }
    hop = hop_of(used_values(parameters), unordered=unordered, cells=cells)
    return parameters, recorded_rate.hop_with_recordings(hop, found)


def _score(run: RunReport, ends: prediction.Ends, variant: str | None) -> Scored:
    """The prediction of the last part of the first run by a fit to what came before it; None, with
    the reason, if it cannot be made.
    """
    cut, end = prediction.FITTED_SHARE * run["duration_s"], prediction.END_SHARE * run["duration_s"]
    if end - cut < prediction.MIN_HELD_OUT_S:
        return None, f"a capture of {run['duration_s']:.1f} s is too short to hold out a part"
    whole, seen, truth = (ends.transfers(since, until) for since, until in ((None, None), (None, cut), (cut, end)))
    if (
        whole is None
        or seen is None
        or truth is None
        or whole.duration_s < prediction.MIN_BULK_TIME * run["duration_s"]
    ):
        return None, "no bulk transfer in one direction lasts through the capture"
    if whole.direction != truth.direction:
        return None, "the direction of the transfers changes"
    link = _link(ends.link_fit(cut, DRAWS, SEED), ends, cut, variant).hop.link()
    replay = whole.replay(run["duration_s"], cut, end)
    return prediction.score(replay, link, seen.observed, truth.observed, variant), ""


def _inputs(names: list[str], runs: Sequence[RunReport]) -> list[FittedInput]:
    """Each capture with its end, in the order of the runs."""
    inputs: list[FittedInput] = []
    ends: tuple[Literal["server", "client"], ...] = ("server", "client")
    for number, run in enumerate(runs, start=1):
        inputs += [
            {"capture": names[index], "end": end, "run": number, "flows": run["flows"], "duration_s": run["duration_s"]}
            for pair in run["captures"]
            for end, index in zip(ends, pair, strict=True)
        ]
    return inputs


def _remarks(fitted: LinkFit, hop: FittedHop) -> list[str]:
    """What the captures show and the link does not have."""
    is_capped = isinstance(hop.medium, Grants) and hop.medium.cap is not None
    recorded = recorded_rate.recorded_directions(fitted)
    texts = recorded_rate.remarks(fitted)
    for direction in DIRECTIONS:
        of = fitted[direction]
        rate, facts = of["rate"], of["rate"]["evidence"]
        if of["flow_queues"]:
            texts.append(
                f"{direction}: flows overtake each other: the link has a queue for each flow, this one has not"
            )
        if of["marked"]:
            texts.append(f"{direction}: packets were marked CE: an AQM, which this link has not")
        is_fitted = is_capped or of["policer"] is not None or of["shaper"] is not None
        if of["token_bucket"] is not None and not is_fitted and (facts["gaps"] or of["lost"]):
            rate_bps, burst = of["token_bucket"]
            kind = "token bucket" if facts["gaps"] else "policer"
            texts.append(
                f"{direction}: a {kind} of {rate_bps / 1e6:.3g} Mb/s with a burst of {burst / 1e3:.3g} kB; "
                "this link has the rate alone"
            )
        if facts["bursts"] is not None:
            texts.append(
                f"{direction}: bursts passed at {rate_text(facts['bursts'])}, and no more than "
                f"{rate_text(rate['lo'] or 0.0)} was seen to last: a token bucket or policer may limit the rate"
            )
        if direction in recorded:
            continue
        if of["stalls"] and of["periodic_stalls"] is None:
            texts.append(f"{direction}: the link stalled {of['stalls']} times, this one does not")
        if serves_others(rate):
            texts.append(
                f"{direction}: while packets of these flows waited, the link served others for "
                f"{percent(1 - 1 / (1 + (facts['mode_above_mean'] or 0.0)))} of the time: cross traffic; this link has "
                "what was left, at a constant rate"
            )
        elif rate["status"] == "identified" and facts["variation"] is not None:
            texts.append(f"{direction}: the rate varies, this link has its mean")
    return texts
