"""Applications: scores in documents, metrics, terminal and report."""

from __future__ import annotations

from typing import Any

import pytest

import ackclock
from ackclock import Call, Conference, Flow, Game, Page, Video
from ackclock.errors import InputError
from ackclock.simulation.apps import felt, responsiveness_text
from ackclock.simulation.metrics import metrics_json

DSL = {"rate": {"down": "16 Mb/s", "up": "1 Mb/s"}, "delay": "15 ms"}
PEOPLE = [
    {"name": "call", "workload": {"kind": "call"}},
    {"name": "game", "workload": {"kind": "game"}},
    {"name": "page", "workload": {"kind": "page", "page": "light"}, "start": "5 s"},
]
GAME = PEOPLE[1]
UPLOAD = {"name": "upload", "direction": "up", "workload": {"kind": "bulk"}}


def run(flows: list[Any], queue: dict[str, Any] | None = None, seeds: int = 1) -> ackclock.Simulation:
    hop = {"name": "dsl", **DSL, **({"queue": queue} if queue else {})}
    return ackclock.simulate({"hop": [hop]}, flows, duration="20 s", seeds=seeds)


def scores(done: ackclock.Simulation) -> dict[str, dict[str, Any]]:
    flows = done.summaries[0]["flows"]
    return {flow["flow"]: dict(flow["app"]["score"]) for flow in flows if "app" in flow}


def test_idle_link_holds_a_call_a_game_and_a_page() -> None:
    found = scores(run(PEOPLE))
    # 20 ms of speech, 15 on the path, 20 in the buffer, and packets of the page before it: no more
    # than 100 ms, at which the E-model begins.
    assert found["call"]["rating"]["mean"] == 93.2 and found["call"]["unplayed_share"] == 0.0
    assert 55.0 < found["call"]["mouth_to_ear_ms"] < 70.0
    assert found["game"]["late_share"] == 0.0 and 30.0 < found["game"]["rtt_p50_ms"] < 35.0
    # Handshake, TLS and document: three round trips; two levels below it, and 204 kB at 16 Mb/s.
    assert 0.15 < found["page"]["load_s"] < 0.5
    assert found["page"]["byte_index_s"] < found["page"]["load_s"]


def test_upload_into_a_large_buffer_spoils_all_three_and_fq_codel_saves_them() -> None:
    bloated = scores(run([*PEOPLE, UPLOAD], {"kind": "droptail", "bytes": "256 KiB"}))
    assert bloated["call"]["mos"]["mean"] < 2.6 and bloated["game"]["late_share"] > 0.8
    managed = scores(run([*PEOPLE, UPLOAD], {"kind": "fq-codel"}))
    assert managed["call"]["mos"]["mean"] > 4.0 and managed["game"]["late_share"] < 0.02
    assert bloated["page"]["load_s"] is None or bloated["page"]["load_s"] > 3 * managed["page"]["load_s"]


@pytest.mark.finding("U48")
def test_scores_have_intervals_over_seeds_and_stand_first_in_the_terminal() -> None:
    done = run([*PEOPLE, UPLOAD], {"kind": "droptail", "bytes": "64 KiB"}, seeds=3)
    metrics = metrics_json(done.summaries)
    for name in ("call_mos", "call_mos_p10", "page_load_s", "page_byte_index_s", "game_late_share"):
        assert metrics[name]["n"] == 3 and metrics[name]["lo"] <= metrics[name]["mean"] <= metrics[name]["hi"], name
    assert set(metrics) <= set(ackclock.list_metrics())
    table, flows, *_ = done.tables()
    assert str(table.title).startswith("What people feel") and table.row_count == 3
    (_, _, texts) = (list(map(str, column.cells)) for column in table.columns)
    assert texts[0].startswith("MOS ") and "answers later than 100 ms" in texts[1] and texts[2].startswith("loaded in ")
    assert flows.row_count == 3 * 4, "a page is one row"
    page = done._page()
    assert page.answer.startswith("Calls: MOS ") and page.sections[0].title == "What people feel"


def test_run_without_people_has_no_scores() -> None:
    done = run([UPLOAD])
    assert felt(done.summaries) == [] and not any(name.startswith(("call", "page", "game")) for name in done.metrics)
    assert not any(column.startswith(("app", "part_of")) for column in done.flows.columns)


def test_game_beside_an_upload_has_its_responsiveness_and_the_grade_of_the_added_delay() -> None:
    done = run([GAME, UPLOAD])
    found = done.summaries[0]["responsiveness"]
    assert found["rpm"] == pytest.approx(60_000 / ((found["beside_load_ms"] + found["on_load_ms"]) / 2))
    assert done.metrics["rpm"]["mean"] < 600 and done.metrics["added_delay_p95_ms"]["mean"] > 60
    assert responsiveness_text(done.summaries).endswith((": grade C", ": grade D", ": grade F"))
    managed = responsiveness_text(run([GAME, UPLOAD], queue={"kind": "fq-codel"}).summaries)
    assert managed.endswith((": grade A", ": grade A+"))


def test_game_alone_has_no_load_and_no_grade() -> None:
    done = run([GAME])
    assert "responsiveness" not in done.summaries[0] and "rpm" not in done.metrics
    assert responsiveness_text(done.summaries) == ""


@pytest.mark.finding("U48")
def test_page_that_does_not_end_shows_how_much_of_it_arrived() -> None:
    done = run([{"name": "page", "workload": {"kind": "page", "page": "news"}, "start": "19 s"}])
    ((_, _, text),) = felt(done.summaries)
    assert text.startswith("not complete: ") and text.endswith(" of 4.4 MB")
    assert done.metrics["page_incomplete_share"]["mean"] == 1.0 and "page_load_s" not in done.metrics


def test_typed_workloads_are_their_tables() -> None:
    call, game, page = Call(ptime=0.03), Game(rate=60, deadline="50 ms"), Page(page="shop", connections=2)
    video, meeting = Video(adaptation="buffer", segment="2 s"), Conference(frame_rate=25, max_rate="1 Mb/s")
    flows = [Flow(workload=workload) for workload in (call, game, page, video, meeting)]
    kinds = [flow["app"]["kind"] for flow in run(list(flows)).summaries[0]["flows"] if "app" in flow]
    assert kinds == ["call", "game", "page", "video", "conference"]


STREAMS = [
    {"name": "film", "workload": {"kind": "video"}},
    {"name": "meeting", "workload": {"kind": "conference", "max_rate": "800 kb/s"}},
]


def test_video_and_conference_have_sentences_and_metrics() -> None:
    done = run(STREAMS, {"kind": "fq-codel"}, seeds=2)
    (_, _, film), (_, _, meeting) = felt(done.summaries)
    assert film.startswith("starts after 0.") and ", no stall, mostly 1080p (" in film and film.endswith(" on average)")
    assert "b/s" in meeting and meeting.endswith("no freeze")
    names = {name for name in done.metrics if name.startswith(("video", "conference"))}
    assert names <= set(ackclock.list_metrics()) and {"video_stall_s", "video_bps", "conference_freezes"} <= names
    assert done.metrics["video_stalls"]["mean"] == 0.0
    page = done._page()
    assert page.answer.startswith("Videos: no stall; conferences: ")


def test_video_stalls_on_a_line_below_its_lowest_bitrate() -> None:
    slow = {"hop": [{"name": "line", "rate": "200 kb/s", "delay": "10 ms"}]}
    done = ackclock.simulate(slow, [STREAMS[0]], duration="60 s", seeds=1)
    ((_, _, film),) = felt(done.summaries)
    assert " stalls of " in film and "mostly 240p (" in film


def test_video_without_a_segment_does_not_start() -> None:
    dead = {"hop": [{"name": "line", "rate": "1 kb/s", "delay": "10 ms"}]}
    done = ackclock.simulate(dead, [STREAMS[0]], duration="20 s", seeds=1)
    assert [text for _, _, text in felt(done.summaries)] == ["does not start"]
    assert "video_start_s" not in done.metrics


def test_sweep_takes_the_metrics_of_a_video() -> None:
    line = {"hop": [{"name": "line", "rate": {"down": "1 Mb/s", "up": "1 Mb/s"}, "delay": "10 ms"}]}
    over = {"hop.line.rate.down": ["1 Mb/s", "8 Mb/s"]}
    swept = ackclock.sweep(line, [STREAMS[0]], "60 s", 1, over=over)
    slow, fast = (point.metrics["video_bps"]["mean"] for point in swept.points)
    assert slow is not None and fast is not None and slow < 1e6 < 4e6 < fast


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"workload": {"kind": "page"}, "direction": "up"}, "the client has the browser"),
        ({"workload": {"kind": "page"}, "stop": "5 s"}, "it ends with its last object"),
        ({"workload": {"kind": "video"}, "direction": "up"}, "the client has the player"),
        ({"workload": {"kind": "video", "buffer": "7 s"}}, "at least two segments"),
        ({"workload": {"kind": "conference", "start_rate": "3 Mb/s"}}, "from min_rate to max_rate"),
        ({"workload": {"kind": "call", "codec": "opus"}}, '"g711"'),
        ({"workload": {"kind": "call", "ptime": "1 ms"}}, "5 ms to 200 ms"),
    ],
)
def test_wrong_application_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run([keys])
