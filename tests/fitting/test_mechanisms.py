"""Media, handovers, reordering and cross traffic in a fit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError, NoPath
from ackclock.fitting.hop import FittedHop
from ackclock.fitting.media import CAPPED, MAX_SHAPE, Bucket, Medium, Search
from ackclock.fitting.medium_fit import MediumFit, with_all_drops_at_queue
from ackclock.fitting.parameters import Parameter, path_of
from ackclock.fitting.prediction import Ends, Observed, Transfers
from ackclock.input.checked_table import ReadBy
from ackclock.input.objects import Loss, Policer
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.link_draws import LinkDraws
from tests.support.captures import simulated_captures

DOWNLOAD = {"name": "download", "workload": {"kind": "bulk"}}


def rows(fit: Any) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): row for row in fit.document["parameters"]}


def covers(row: dict[str, Any], truth: float) -> bool:
    return bool(row["lo"] <= truth <= row["hi"])


def test_handover_has_its_period_and_gap_when_the_link_stalls_at_equal_times(tmp_path):
    hop = {"rate": "6 Mb/s", "delay": "15 ms", "handover": {"down": {"every": "2 s", "gap": "300 ms"}}}
    fit = ackclock.fit(*simulated_captures(tmp_path, hop, duration="15 s"), score=False)
    found = rows(fit)
    assert covers(found["handover.down.every"], 2000.0), found["handover.down.every"]
    assert found["handover.down.gap"]["value"] == pytest.approx(300, rel=0.1)
    assert "handover.up.every" not in found and not any("stalled" in text for text in fit.document["remarks"])
    handover = fit.link.to_dict()["hop"][0]["handover"]["down"]
    assert ReadBy("Handover")(handover).every == pytest.approx(2e12, rel=0.01)


def test_reordering_has_its_share_and_delay_when_single_packets_are_late(tmp_path):
    hop = {"rate": "20 Mb/s", "delay": "15 ms", "reorder": {"down": {"mean": 0.02, "delay": "5 ms"}}}
    found = rows(ackclock.fit(*simulated_captures(tmp_path, hop), score=False))
    assert covers(found["reorder.down.mean"], 0.02), found["reorder.down.mean"]
    assert covers(found["reorder.down.delay"], 5.0), found["reorder.down.delay"]


def test_rate_is_bounded_with_a_remark_when_the_link_serves_others(tmp_path):
    cross = {"kind": "onoff", "rate": "1 Mb/s", "on": "700 ms", "off": "900 ms", "packet": "1000 B"}
    flows = [DOWNLOAD, {"name": "cross", "workload": cross, "direction": "down"}]
    fit = ackclock.fit(*simulated_captures(tmp_path, {"rate": "3 Mb/s"}, flows=flows, duration="20 s"), score=False)
    row = rows(fit)["rate.down"]
    assert row["status"] == "bounded" and covers(row, 3e6), row
    assert any("cross traffic" in text for text in fit.document["remarks"])
    draws = fit.draws["hop.access.rate.down"].to_list()
    assert min(draws) < 2.8e6 < 2.95e6 < max(draws)
    queue, loss = rows(fit)["queue.down.bytes"], rows(fit)["loss.down.mean"]
    assert queue["status"] == loss["status"] == "bounded" and loss["lo"] == 0.0, (queue, loss)


def test_assumed_queue_has_wide_draws_when_it_never_overflowed(tmp_path):
    fit = ackclock.fit(*simulated_captures(tmp_path, {"queue": {"kind": "droptail", "bytes": "9 MB"}}), score=False)
    draws = fit.draws["hop.access.queue.down.bytes"].to_list()
    row = rows(fit)["queue.down.bytes"]
    assert row["status"] == "bounded" and min(draws) >= row["lo"] and max(draws) > 3 * min(draws)


def test_interval_of_a_queue_has_the_packet_in_transmission_when_acks_clock_departures(tmp_path):
    hop = {"rate": "4 Mb/s", "delay": "12 ms", "queue": {"kind": "droptail", "bytes": "9617 B"}}
    row = rows(ackclock.fit(*simulated_captures(tmp_path, {**hop, "name": "access"}), score=False))["queue.down.bytes"]
    assert row["status"] == "identified" and covers(row, 9617) and row["hi"] - row["lo"] <= 3 * 1500


def test_run_folder_stands_for_the_captures_in_it(tmp_path):
    captures = simulated_captures(tmp_path / "run", duration="5 s")
    of_folder = ackclock.fit(tmp_path / "run", score=False)
    assert of_folder.document["parameters"] == ackclock.fit(*captures, score=False).document["parameters"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as raised:
        ackclock.fit(tmp_path / "empty")
    assert raised.value.file == str(tmp_path / "empty")


@pytest.mark.slow
def test_medium_is_the_one_whose_replays_are_like_the_input(tmp_path):
    cell = {"kind": "wimax", "channel": "7 MHz", "frame": "5 ms", "modulation": "64qam-3/4", "dl_ul": "3:1"}
    lte = {"kind": "grants", "standard": "lte", "rate": {"down": "20 Mb/s", "up": "8 Mb/s"}}
    for medium in (cell, lte):
        queue = {"kind": "droptail", "bytes": "30 kB"}
        hop = {"name": "access", "medium": medium, "delay": "20 ms", "queue": queue}
        run = tmp_path / str(medium["kind"])
        ackclock.simulate({"hop": [hop]}, [DOWNLOAD], "15 s", 1, out=run, captures="pcap")
        fit = ackclock.fit(run, score=False, variant="cubic")
        (fitted,) = fit.document["link"]["hop"]
        assert any("direction of ACKs is assumed" in text for text in fit.document["remarks"])
        assert fitted["medium"]["kind"] == medium["kind"] and fitted["medium"].get("standard") == medium.get("standard")

        def goodput(one: Any) -> float:
            run = ackclock.simulate({"hop": [one]}, [DOWNLOAD], "15 s", seeds=[5, 6], tcp={"variant": "reno"})
            return float(sum(summary["flows"][0]["goodput_bps"] for summary in run.summaries))

        assert goodput(fitted) == pytest.approx(goodput(hop), rel=0.15)


@pytest.mark.parametrize(("bursts", "status"), [(None, "identified"), (6e6, "bounded")])
def test_queue_and_delay_are_bounded_when_bursts_alone_passed_a_cap(bursts, status):
    observed = Observed(2e6, 60.0, 0.01, 40.0, 50.0, 50.0)
    fit: Any = {"down": {"rate": {"status": "bounded", "evidence": {"bursts": bursts}}}}
    medium = Medium("a cap", standard=CAPPED, bucket=Bucket("down", 2e6, 50_000.0, 20e6))
    search = Search(medium, FittedHop(), Transfers("down", 1, 15.0, observed), "cubic", 20.0, fit, Ends("", ""))
    found = MediumFit(search, 2e6, 30_000.0, 20.0, 4.0, 100.0, 35.0, [(2e6, 30_000.0, 20.0)] * 40)
    of = {row.path: row for row in found.parameters([])}
    assert {of[f"hop.access.{path}"].status for path in ("queue.down.bytes", "delay")} == {status}
    assert all(row.why for row in of.values() if row.status == "bounded")


@pytest.mark.parametrize(
    ("distance", "all_at_queue", "loss", "queue"),
    [
        (4.0, False, "identified", "identified"),
        (4.0, True, "bounded", "identified"),
        (90.0, False, "bounded", "bounded"),
    ],
)
def test_rows_are_identified_where_replays_of_a_medium_agree(distance, all_at_queue, loss, queue):
    observed = Observed(2e6, 60.0, 0.01, 40.0, 50.0, 50.0)
    rate = {"status": "identified", "evidence": {"bursts": None, "gaps": 9, "busy_s": 9.0}}
    fit: Any = {"down": {"rate": rate}}
    search = Search(
        Medium("lte", standard="lte"),
        FittedHop(),
        Transfers("down", 1, 15.0, observed),
        "cubic",
        20.0,
        fit,
        Ends("", ""),
    )
    draws = [(2e6, 30_000.0, 20.0)] * 40
    found = MediumFit(search, 2e6, 30_000.0, 20.0, distance, 400.0, 120.0, draws, all_at_queue=all_at_queue)
    others = [
        Parameter(path_of(key), unit, "identified", "", "", value, value / 2, value * 2, value)
        for key, unit, value in (
            ("loss.down.mean", "1", 0.01),
            ("loss.down.bad_sojourn", "ms", 5.0),
            ("policer.down.rate", "b/s", 1e6),
        )
    ]
    of = {row.key: row for row in found.parameters(others)}
    assert of["loss.down.mean"].status == loss and of["queue.down.bytes"].status == queue
    assert of["delay"].status == of["medium.rate.down"].status == queue
    assert ("policer.down.rate" in of) == ("loss.down.bad_sojourn" in of) == (not all_at_queue)
    assert all(row.why for row in of.values() if row.status == "bounded")


@pytest.mark.parametrize(
    ("gaps", "rate_is_open", "is_doubtful"), [(0, True, True), (9, True, False), (0, False, False)]
)
def test_losses_may_be_a_queues_where_neither_rate_nor_policer_is_known(gaps, rate_is_open, is_doubtful):
    rate = {"status": "identified", "evidence": {"gaps": gaps, "busy_s": 9.0}}
    policer = {"evidence": {"rate_is_open": rate_is_open, "like_queue": False}}
    fit: Any = {"rate": rate, "policer": policer}
    lossy, policed = Loss(kind="bernoulli", mean=0.01), Policer(rate="5 Mb/s", burst="6 kB")
    hop = FittedHop(loss={"down": lossy, "up": lossy}, policer={"down": policed})
    found = with_all_drops_at_queue(hop, fit, "down")
    assert (found is not None) is is_doubtful
    assert found is None or (found.loss == {"up": lossy} and not found.policer)
    assert with_all_drops_at_queue(FittedHop(), fit, "down") is None


def test_replay_without_arrivals_is_unlike_the_input_and_other_refusals_end_the_fit():
    observed = Observed(2e6, 60.0, 0.01, 40.0, 50.0, 50.0)

    def refuse(error: InputError) -> Search:
        def replay_shape(captures: Any) -> Any:
            raise error

        fit: Any = {"down": {"shape": None}, "up": {"shape": None}}
        source: Any = SimpleNamespace(replay_shape=replay_shape)
        replay: Any = SimpleNamespace(simulated=lambda *_: observed, captured=lambda *_: [])
        seen = Transfers("down", 1, 15.0, observed)
        search = Search(Medium("a cap", standard=CAPPED), FittedHop(), seen, "cubic", 20.0, fit, source)
        search.replay = replay
        return search

    link: Any = None
    assert refuse(NoPath.problem("no packets in common", "")).distance_of(link, 1.0) == MAX_SHAPE
    with pytest.raises(InputError, match="no capture"):
        refuse(InputError.problem("no capture", "")).distance_of(link, 1.0)


def test_draws_of_a_medium_set_its_rates(tmp_path):
    import polars as pl

    link = tmp_path / "link.toml"
    medium = 'medium = { kind = "grants", standard = "lte", rate = { down = "20 Mb/s", up = "8 Mb/s" } }'
    link.write_text(f'[[hop]]\nname = "access"\ndelay = "20 ms"\n{medium}\n[fit]\ninputs = []\n')
    pl.DataFrame({"hop.access.medium.rate.down": [1e7, 3e7]}).write_parquet(tmp_path / "link.draws.parquet")
    scenario = draft_of({"link": str(link), "duration": "1 s", "flow": [DOWNLOAD]}).check()
    draws = LinkDraws.beside(link)
    assert draws is not None
    media = [draws.scenario(scenario, seed).hop[0].medium for seed in (1, 2)]
    rates = [(medium.rate.down, medium.rate.up) for medium in media if medium]
    assert rates == [(10_000_000, 8_000_000), (30_000_000, 8_000_000)]
