"""What people feel of a run's calls, pages, videos, conferences and games: metrics over seeds, and
a sentence for each flow (docs/models/scores.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ackclock import _native
from ackclock.format import column_percent, milliseconds, range_text, rate, significant, size
from ackclock.statistics import Interval, interval, mean_of_known

if TYPE_CHECKING:
    from ackclock.documents.simulate import RunFlows

METRICS: Mapping[str, str] = {
    "call_mos": "1 to 4.5; mean opinion score of calls (ITU-T G.107), mean over windows of 10 s.",
    "call_mos_p10": "1 to 4.5; mean opinion score in the worst tenth of the windows of calls.",
    "page_load_s": "s; load time of pages, mean over the complete ones.",
    "page_byte_index_s": "s; ByteIndex of pages, mean over the complete ones.",
    "page_incomplete_share": "share; of the pages, those that were not complete at the end of the run.",
    "video_start_s": "s; time from the request of a video to its first picture, mean over those that started.",
    "video_stalls": "count; stalls of a video, mean over videos.",
    "video_stall_s": "s; time in which a video stalls, mean over videos.",
    "video_bps": "b/s; bitrate of the video that was played, mean over videos.",
    "video_switches": "count; changes of a video's bitrate, mean over videos.",
    "video_top_share": "share; of the played time, that at the highest bitrate, mean over videos.",
    "conference_bps": "b/s; bitrate of the frames that a conference rendered, mean over conferences.",
    "conference_delay_p95_ms": "ms; 95th percentile from a frame's capture to its rendering, mean over conferences.",
    "conference_freezes": "count; freezes of a conference (webrtc-stats), mean over conferences.",
    "conference_freeze_s": "s; time of the freezes of a conference, mean over conferences.",
    "conference_late_share": "share; of the frames of conferences, those rendered after 400 ms or never.",
    "game_late_share": "share; of the packets of games, those answered after the deadline or never.",
    "rpm": "1/min; round trips per minute of games beside bulk flows and of these (draft-ietf-ippm-responsiveness-08).",
    "added_delay_p95_ms": "ms; 95th percentile of a game's RTT beside bulk flows, less its minimum.",
}
"""Metric name to its unit and definition."""


_Score = Mapping[str, Any]
_FIGURES: Mapping[str, Mapping[str, Callable[[_Score], float | None]]] = {
    "call": {
        "call_mos": lambda score: score["mos"]["mean"],
        "call_mos_p10": lambda score: score["mos"]["p10"],
    },
    "page": {
        "page_load_s": itemgetter("load_s"),
        "page_byte_index_s": itemgetter("byte_index_s"),
        "page_incomplete_share": lambda score: float(score["load_s"] is None),
    },
    "video": {
        "video_start_s": itemgetter("start_s"),
        "video_stalls": itemgetter("stalls"),
        "video_stall_s": itemgetter("stall_s"),
        "video_bps": itemgetter("bitrate_bps"),
        "video_switches": itemgetter("switches"),
        "video_top_share": itemgetter("top_share"),
    },
    "conference": {
        "conference_bps": itemgetter("bitrate_bps"),
        "conference_delay_p95_ms": itemgetter("delay_p95_ms"),
        "conference_freezes": itemgetter("freezes"),
        "conference_freeze_s": itemgetter("freeze_s"),
        "conference_late_share": itemgetter("late_share"),
    },
    "game": {"game_late_share": itemgetter("late_share")},
}
"""By kind of application, its metrics, each by a flow's score."""


def app_metrics(flows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The metrics of a run's applications, from its flows: means over the flows of a kind. A run
    without flows of a kind has none of its metrics.
    """
    scores: dict[str, list[_Score]] = {}
    for flow in flows:
        if app := flow.get("app"):
            scores.setdefault(app["kind"], []).append(app["score"])
    return {
        metric: mean_of_known(map(figure, scores[kind]))
        for kind, figures in _FIGURES.items()
        if kind in scores
        for metric, figure in figures.items()
    }


def responsiveness_metrics(summary: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of a run's responsiveness under load; none without a game beside bulk flows."""
    found = summary.get("responsiveness")
    return {"rpm": found["rpm"], "added_delay_p95_ms": found["added_p95_ms"]} if found else {}


def responsiveness_text(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The responsiveness of a run's seeds as a sentence, means with their 95 % interval; empty
    without one. The grade is that of the mean.
    """
    if not (rows := _responsiveness(summaries)):
        return ""
    rpm = _figure((row["rpm"] for row in rows), lambda value: f"{value:.0f}")
    added = _figure((row["added_p95_ms"] for row in rows), milliseconds)
    grade = _native.added_delay_grade(_mean_of(rows, "added_p95_ms"))
    return f"{rpm} round trips per minute under load, which adds {added} at the 95th percentile: grade {grade}"


def responsiveness_sentence(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The same without intervals, in a line of a screen."""
    if not (rows := _responsiveness(summaries)):
        return ""
    rpm, added = (_mean_of(rows, key) for key in ("rpm", "added_p95_ms"))
    grade = _native.added_delay_grade(added)
    return f"Under load {rpm:.0f} round trips per minute; p95 of the added delay {milliseconds(added)}: grade {grade}."


def _responsiveness(summaries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, float]]:
    return [found for summary in summaries if (found := summary.get("responsiveness"))]


def _mean_of(rows: Sequence[Mapping[str, float]], key: str) -> float:
    return math.fsum(row[key] for row in rows) / len(rows)


def felt(summaries: Sequence[RunFlows]) -> list[tuple[str, str, str]]:
    """Name, application and what people feel of it, for each flow of a run's seeds that has an
    application: means, of several seeds with their 95 % interval.
    """
    rows = []
    for index, flow in enumerate(summaries[0]["flows"]):
        if app := flow.get("app"):
            assert isinstance(app, Mapping)
            scores = [_score(summary["flows"][index]) for summary in summaries]
            rows.append((str(flow["flow"]), str(app["kind"]), _SENTENCES[app["kind"]](scores)))
    return rows


def felt_of_alike(summaries: Sequence[RunFlows], name_of: Callable[[str], str]) -> list[tuple[str, str]]:
    """What people feel of the applications that have the same name by ``name_of``: the name, and
    the means over flows and seeds.
    """
    scores: dict[tuple[str, str], list[_Score]] = {}
    for summary in summaries:
        for flow in summary["flows"]:
            if app := flow.get("app"):
                assert isinstance(app, Mapping)
                scores.setdefault((name_of(str(flow["flow"])), str(app["kind"])), []).append(_score(flow))
    return [(name, _SENTENCES[kind](of)) for (name, kind), of in scores.items()]


def _score(flow: Mapping[str, Any]) -> _Score:
    score: _Score = flow["app"]["score"]
    return score


_Scores = Sequence[_Score]


def _figure(values: Iterable[float | None], text: Callable[[float], str], maximum: float = math.inf) -> str:
    """A mean as text, and its interval where there is one; empty without values."""
    found: Interval = interval(values, scale="log", maximum=maximum)
    if not found.n:
        return ""
    if (
        found.n == 1
        or not (math.isfinite(found.lo) and math.isfinite(found.hi))
        or " .. " not in range_text(text(found.lo), text(found.hi))
    ):
        return text(found.mean)
    return f"{text(found.mean)} ({text(found.lo)} to {text(found.hi)})"


def _mos(value: float) -> str:
    return f"{value:.1f}"


def _seconds(value: float) -> str:
    return f"{significant(value, 2)} s"


def _call(scores: _Scores) -> str:
    mos = _figure((score["mos"]["mean"] for score in scores), _mos, 4.5)
    if not mos:
        return "no packet was sent"
    worst = _figure((score["mos"]["p10"] for score in scores), _mos, 4.5)
    parts = [f"MOS {mos}" + ("" if worst == mos else f", {worst} in its worst tenth")]
    if delay := _figure((score["mouth_to_ear_ms"] for score in scores), milliseconds):
        parts.append(f"{delay} from mouth to ear")
    lost = _figure((score["unplayed_share"] for score in scores), column_percent, 1.0)
    parts.append("nothing lost" if not any(score["unplayed_share"] for score in scores) else f"{lost} lost or too late")
    return ", ".join(parts)


def _page(scores: _Scores) -> str:
    missing = [score for score in scores if score["load_s"] is None]
    if len(missing) == len(scores):
        arrived = _figure((score["arrived_bytes"] for score in scores), size)
        return f"not complete: {arrived or '0 B'} of {size(scores[0]['bytes'])}"
    load = _figure((score["load_s"] for score in scores), _seconds)
    index = _figure((score["byte_index_s"] for score in scores), _seconds)
    some = f" in {len(scores) - len(missing)} of {len(scores)} loads" if missing else ""
    return f"loaded in {load}{some}, ByteIndex {index}"


def _game(scores: _Scores) -> str:
    late = _figure((score["late_share"] for score in scores), column_percent, 1.0)
    if not late:
        return "no packet was sent"
    deadline = milliseconds(scores[0]["deadline_ms"])
    rtt = _figure((score["rtt_p95_ms"] for score in scores), milliseconds)
    text = f"{late} of the answers later than {deadline} or lost"
    return f"{text}, p95 RTT {rtt}" if rtt else text


def _pauses(scores: _Scores, name: str, count: str, seconds: str) -> str:
    """How often and for how long something stops."""
    mean = math.fsum(score[count] for score in scores) / len(scores)
    if not mean:
        return f"no {name}"
    count_shown = f"{mean:.0f}" if mean.is_integer() else significant(mean, 2)
    number = f"1 {name}" if mean == 1 else f"{count_shown} {name}s"
    return f"{number} of {_figure((score[seconds] for score in scores), _seconds)} in all"


def _conference(scores: _Scores) -> str:
    bitrate = _figure((score["bitrate_bps"] for score in scores), rate)
    delay = _figure((score["delay_p95_ms"] for score in scores), milliseconds)
    if not bitrate or not delay:
        return "no frame was rendered"
    freezes = _pauses(scores, "freeze", "freezes", "freeze_s")
    late = _figure((score["late_share"] for score in scores), column_percent, 1.0)
    is_late = any(score["late_share"] for score in scores)
    return f"{bitrate}, {delay} to the picture (p95), {freezes}" + (f", {late} of the frames late" if is_late else "")


def _video(scores: _Scores) -> str:
    start = _figure((score["start_s"] for score in scores), _seconds)
    if not start:
        return "does not start"
    stalled = _pauses(scores, "stall", "stalls", "stall_s")
    bitrate = _figure((score["bitrate_bps"] for score in scores), rate)
    lines = sorted(score["lines"] for score in scores if score["lines"] is not None)
    if not bitrate:
        return f"starts after {start}, {stalled}, not played in the measured time"
    return f"starts after {start}, {stalled}, mostly {lines[len(lines) // 2]}p ({bitrate} on average)"


_SENTENCES: Mapping[str, Callable[[_Scores], str]] = {
    "call": _call,
    "page": _page,
    "video": _video,
    "conference": _conference,
    "game": _game,
}
