"""What limits a flow: the account of the hops' time, the decision, and its sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock._native import LimitFacts
from ackclock.comparison import compare
from ackclock.input.scenario.draft import read_draft
from ackclock.limit_words import KINDS, WORDS
from ackclock.simulation.limits import decide
from ackclock.simulation.run import Simulation, simulate_scenario
from studies.limits.page import sample
from studies.limits.rows import Setting, evaluate

EXAMPLES = Path(__file__).parents[2] / "examples"
GATE_ROWS = 40
GATE_SEED = 1904
ONE: dict[str, Any] = {"buffers": ["auto"], "delayed_ack": [True], "seeds": 1}


def _facts(shares: dict[str, float], **changes: Any) -> LimitFacts:
    return LimitFacts(
        dict.fromkeys(KINDS, 0.0) | shares, "down", rtt_ms=100.0, bottleneck="air", ack_hop="dsl", **changes
    )


@pytest.mark.parametrize(
    ("facts", "kind", "cause", "text"),
    [
        (_facts({"bottleneck": 0.6, "cwnd": 0.4}), "bottleneck", None, "the bottleneck `air down` is full"),
        (
            _facts({"ack_path": 0.5, "cwnd": 0.3}, ack_wait_ms=300.0, ack_part=0.7, data_beside_acks=True),
            "ack_path",
            "data",
            "an ACK waits 300 ms on average behind the data of the other direction, 70 % of the RTT",
        ),
        (
            _facts({"receive_window": 0.9}, window_bytes=65_535, buffer_bytes=262_144, window_cap="scaling"),
            "receive_window",
            "scaling",
            "the receive window (65,535 B) limits goodput 90 % of the time: one window per RTT of 100 ms is 5.24 Mb/s; "
            "without window scaling 65,535 B are the maximum, of a buffer of 256 KiB",
        ),
        (
            _facts({"receive_window": 0.9}, window_cap="autotuning", buffer_bytes=6 << 20),
            "receive_window",
            "autotuning",
            "autotuning has not raised it to its maximum (6 MiB of buffer)",
        ),
        (
            _facts({"receive_window": 0.9}, window_cap="reader", goodput_bps=1e6),
            "application",
            "reader",
            "the receiver reads 1.00 Mb/s, so that the receive window closes",
        ),
        (
            _facts({"cwnd": 0.7}, cuts=3, mark_cuts=3),
            "cwnd",
            "mark",
            "3 reductions after ECN marks of `air down`",
        ),
        (
            _facts({"cwnd": 0.7}, cuts=3, channel_drops=4, loss_drops=4, loss_hop="radio"),
            "cwnd",
            "channel",
            "3 reductions after 4 losses on the channel of `radio down`",
        ),
        (
            _facts({"recovery": 0.7}, cuts=1, overflow_drops=27, loss_drops=27, loss_hop="air", shares_loss_hop=True),
            "recovery",
            "overflow",
            "it follows drops at the queue of `air down` (27 drops of all flows)",
        ),
        (
            _facts({"receive_window": 0.9}, window_cap="proxy", feeds="download@terminal", goodput_bps=9e7),
            "application",
            "proxy",
            "the flow `download@terminal` behind the proxy limits goodput: the proxy's buffer is full, so that it "
            "reads 90.0 Mb/s and the receive window closes",
        ),
        (_facts({"cwnd": 0.7}), "cwnd", "none", "it is still growing, without a loss"),
        (_facts({"application": 0.8, "cwnd": 0.2}), "application", None, "it has no data to send 80 % of the time"),
        (_facts({"pacing": 0.8}), "pacing", None, "the pacing rate holds back data 80 % of the time"),
    ],
)
def test_limit_has_kind_cause_and_sentence(facts: LimitFacts, kind: str, cause: str | None, text: str) -> None:
    found = decide(facts)
    assert (found.document["kind"], found.document["cause"]) == (kind, cause)
    assert text in found.clause


@pytest.mark.parametrize(
    ("ack_part", "after_loss", "kind"),
    # Without the wait goodput would be 1 / (1 - 0.2) = 1.25 or 1 / (1 - 0.1) = 1.11 times as high.
    [(0.2, False, "ack_path"), (0.1, False, "cwnd"), (0.2, True, "cwnd")],
)
def test_acks_wait_limits_a_growing_window_when_goodput_would_rise_by_a_fifth(
    ack_part: float, after_loss: bool, kind: str
) -> None:
    shares = {"cwnd": 1.0 - ack_part, "ack_path": ack_part}
    assert decide(_facts(shares, cuts=int(after_loss))).document["kind"] == kind


def test_every_kind_of_limit_has_words() -> None:
    for kind, words in WORDS.items():
        assert "{" not in words.claim.format(of=" (64 KiB)", time="50 % of the time")
        assert f"`{kind}`" in (Path(__file__).parents[2] / "docs/evidence/limits.md").read_text("utf-8")


def test_window_after_losses_counts_with_the_recovery_from_them() -> None:
    shares = {"receive_window": 0.4, "cwnd": 0.35, "recovery": 0.25}
    assert decide(_facts(shares)).document["kind"] == "receive_window"
    assert decide(_facts(shares, cuts=5, overflow_drops=5)).document["kind"] == "cwnd"


def test_mean_limit_has_mean_shares_and_the_modal_hop() -> None:
    runs = [_facts({"bottleneck": share, "cwnd": 1.0 - share}) for share in (0.9, 0.7, 0.8)]
    found = LimitFacts.mean(runs)
    assert found.shares["bottleneck"] == pytest.approx(0.8)
    assert decide(found).document["hop"] == "air"


@pytest.mark.finding("A18")
def test_mean_window_counts_runs_by_the_time_that_it_limits_them() -> None:
    runs = [
        _facts({"receive_window": share, "cwnd": 1.0 - share}, window_bytes=size, window_rtt_ms=rtt)
        for share, size, rtt in ((0.9, 1e6, 100.0), (0.1, 5e6, 300.0), (0.0, 9e6, 0.0))
    ]
    found = LimitFacts.mean(runs)
    assert found.window_bytes == pytest.approx(1.4e6)
    assert found.window_rtt_ms == pytest.approx(120.0)
    never = LimitFacts.mean([_facts({"cwnd": 1.0}, window_bytes=size) for size in (1e6, 3e6)])
    assert never.window_bytes == 2e6


@pytest.mark.finding("A18")
def test_rate_of_a_window_has_the_rtt_of_the_time_in_which_it_limits() -> None:
    whys = [decide(_facts({"receive_window": 0.9}, window_bytes=1e6, window_rtt_ms=rtt)).clause for rtt in (200.0, 0.0)]
    assert "one window per RTT of 200 ms is 40.0 Mb/s" in whys[0]
    assert "one window per RTT of 100 ms is 80.0 Mb/s" in whys[1]


@pytest.mark.finding("A18")
def test_window_of_a_reason_is_the_one_in_force_when_autotuning_raises_it() -> None:
    """The window grows from 64 KiB to 3 MB in 5 s: the last one is 125 Mb/s, the goodput 47."""
    hop = {"name": "wide", "rate": "200 Mb/s", "delay": "100 ms", "queue": {"bytes": "5 MB"}}
    flow = {"name": "flow", "workload": {"kind": "bulk"}}
    tcp = {"variant": "bbr", "host": "linux-2.6.20"}
    (found,) = ackclock.simulate({"hop": [hop]}, [flow], duration="5 s", tcp=tcp).document["flows"]
    assert (found["limit"]["kind"], found["limit"]["cause"]) == ("receive_window", "autotuning")
    last_bps = 8e3 * found["advertised_window_bytes"] / found["rtt_ms"]["mean"]
    in_force_bps = 8e3 * found["limiting_window_bytes"] / found["limiting_window_rtt_ms"]
    assert last_bps > 2.5 * found["goodput_bps"]
    assert found["goodput_bps"] < in_force_bps < 1.5 * found["goodput_bps"]
    compared = compare([hop], variants=["bbr"], host="linux-2.6.20", duration="5 s", with_prices=False, **ONE)
    assert compared.document["cells"][0]["limit"] == found["limit"]


@pytest.mark.finding("A18")
def test_window_in_force_is_null_when_it_never_limits_and_the_whole_one_when_it_is_fixed() -> None:
    hop = {"name": "line", "rate": "10 Mb/s", "delay": "20 ms", "queue": {"bytes": "50 kB"}}
    flows = [
        {"name": "free", "workload": {"kind": "bulk"}},
        {"name": "udp", "workload": {"kind": "cbr", "rate": "1 Mb/s"}},
    ]
    found = ackclock.simulate({"hop": [hop]}, flows, duration="3 s").document["flows"]
    assert [flow["limiting_window_bytes"] for flow in found] == [None, None]
    fixed = {**flows[0], "receive_buffer": "16 KiB", "send_buffer": "64 KiB"}
    (found,) = ackclock.simulate({"hop": [hop]}, [fixed], duration="3 s").document["flows"]
    assert found["limiting_window_bytes"] == found["advertised_window_bytes"] == 16_384


@pytest.mark.finding("U46")
def test_limit_is_explained_by_the_host_of_the_data_receiver() -> None:
    """A client of 1997 neither tunes its buffer nor has one of 6 MiB, as the server has."""
    hop = {"name": "line", "rate": "100 Mb/s", "delay": "50 ms", "queue": {"bytes": "5 MB"}}
    flows = [{"name": "flow", "workload": {"kind": "bulk"}}]
    tcp = {"host": "linux-6", "client": {"host": "bsd-1997"}}
    (found,) = ackclock.simulate({"hop": [hop]}, flows, duration="3 s", tcp=tcp).document["flows"]
    assert (found["limit"]["kind"], found["limit"]["cause"]) == ("receive_window", "buffer")


@pytest.fixture(scope="module")
def upload() -> Simulation:
    return simulate_scenario(read_draft(EXAMPLES / "upload-hurts-download.toml").check())


@pytest.mark.finding("U11")
def test_simulation_names_the_uplink_when_an_upload_delays_acks(upload: Simulation) -> None:
    flows = {flow["flow"]: flow for flow in upload.document["flows"]}
    for flow in flows.values():
        assert sum(flow["limits"].values()) == pytest.approx(1.0)
        assert flow["limits"].keys() == set(KINDS)
    for name in ("download-1", "download-2"):
        assert flows[name]["limit"] | {"because": ""} == {
            "kind": "ack_path", "hop": "dsl", "direction": "up", "cause": "data", "because": "",
        }  # fmt: skip
        assert "ACKs wait in the queue of `dsl up`" in flows[name]["why"]
    assert flows["upload"]["limit"]["kind"] == "bottleneck"
    assert (flows["upload"]["limit"]["hop"], flows["upload"]["limit"]["direction"]) == ("dsl", "up")


@pytest.mark.finding("U11")
def test_report_of_a_simulation_separates_directions(upload: Simulation, tmp_path: Path) -> None:
    page = upload.report(tmp_path / "report.html").read_text("utf-8")
    assert "2 TCP flows down together had" in page
    assert "1 TCP flow up had" in page


@pytest.mark.finding("U3")
def test_reason_names_acks_behind_the_upload() -> None:
    hop = {
        "name": "access", "rate": {"down": "16 Mb/s", "up": "1 Mb/s"}, "delay": "15 ms",
        "queue": {"kind": "droptail", "bytes": "64 KiB"},
    }  # fmt: skip
    done = compare([hop], variants=["cubic"], ack_policy=["none"], opposite=1, duration="15 s", **ONE)
    assert "ACKs wait in the queue of `access up`" in done.best.why
    assert "behind the data of the other direction" in done.best.why
    assert f" {done.best.why} " in done.document["verdict"]


@pytest.mark.finding("U4")
def test_reason_names_the_window_in_force_without_scaling() -> None:
    done = compare(
        "wibro-wave2", variants=["newreno"], host="windows-xp", **{**ONE, "buffers": ["256 KiB"]}, duration="10 s"
    )
    assert "receive window (65,535 B) limits goodput" in done.best.why
    assert "without window scaling" in done.best.why
    cell = done.document["cells"][0]
    assert (cell["limit"]["kind"], cell["limit"]["cause"]) == ("receive_window", "scaling")


@pytest.mark.finding("U2")
@pytest.mark.parametrize("link", ["docsis-3.1", "lte-uplink", "nr-uplink", "wifi-80211b"])
def test_reason_is_a_full_bottleneck_on_a_medium(link: str) -> None:
    done = compare(link, variants=["cubic"], duration="6 s", **ONE)
    limit = done.document["cells"][0]["limit"]
    assert (limit["kind"], limit["direction"]) == ("bottleneck", "down")
    assert "is full" in done.best.why


@pytest.mark.finding("U11")
@pytest.mark.parametrize(("count", "shared"), [(1, False), (2, True)])
def test_reason_counts_losses_as_those_of_the_flow_only_when_it_is_alone(count: int, shared: bool) -> None:
    hop = {"name": "air", "rate": "40 Mb/s", "delay": "30 ms", "loss": {"down": {"kind": "bernoulli", "mean": 0.01}}}
    flow = {"name": "get", "workload": {"kind": "bulk"}, "count": count}
    for one in ackclock.simulate({"hop": [hop]}, [flow], duration="4 s").document["flows"]:
        assert (one["limit"]["kind"], one["limit"]["cause"]) == ("cwnd", "channel")
        assert one["why"].endswith("of all flows).") == shared, one["why"]


@pytest.mark.finding("U4")
def test_reason_of_a_flow_into_a_full_proxy_is_the_flow_behind_it() -> None:
    slow = {"name": "air", "rate": "4 Mb/s", "delay": "50 ms", "pep": {"buffer": "200 kB"}}
    wide = {"name": "wide", "rate": "100 Mb/s", "delay": "5 ms"}
    flow = {"name": "get", "workload": {"kind": "bulk"}}
    flows = ackclock.simulate({"hop": [wide, slow, {**wide, "name": "lan"}]}, [flow], duration="6 s").document["flows"]
    before, behind = flows[0], flows[1]
    assert before["feeds"] == behind["flow"]
    assert (before["limit"]["kind"], before["limit"]["cause"]) == ("application", "proxy")
    assert before["why"].startswith(f"The flow `{behind['flow']}` behind the proxy limits goodput")


@pytest.mark.finding("U4")
def test_reason_is_the_buffer_of_the_proxy_when_twice_the_buffer_raises_goodput() -> None:
    def flows(buffer: str) -> list[dict[str, Any]]:
        far = {"name": "air", "rate": "20 Mb/s", "delay": "100 ms", "pep": {"buffer": buffer}}
        flow = {"name": "get", "workload": {"kind": "bulk"}}
        wide = {"name": "wide", "rate": "100 Mb/s", "delay": "5 ms"}
        document = ackclock.simulate({"hop": [wide, far]}, [flow], duration="8 s").document
        return list(document["flows"])

    small, twice = flows("128 KiB"), flows("256 KiB")
    for part in small:
        assert (part["limit"]["kind"], part["limit"]["cause"]) == ("application", "proxy_buffer")
        assert part["why"].startswith("The proxy's buffer (128 KiB) limits goodput: it holds data until")
    assert twice[-1]["goodput_bps"] > 1.2 * small[-1]["goodput_bps"]


def test_reason_names_the_part_in_front_of_the_proxy_when_it_limits() -> None:
    far = {"name": "air", "rate": "20 Mb/s", "delay": "100 ms", "pep": {"buffer": "4 MiB"}}
    wide = {"name": "wide", "rate": "100 Mb/s", "delay": "20 ms"}
    flow = {"name": "get", "workload": {"kind": "bulk"}, "send_buffer": "32 KiB"}
    flows = ackclock.simulate({"hop": [wide, far]}, [flow], duration="8 s").document["flows"]
    assert flows[0]["why"].startswith("In front of the proxy of `air` the send buffer (32 KiB) limits goodput")


LATE = Setting(
    "grants", 8.0, 0.8, 60.0, up_buffer_ms=400.0, start_s=3.0, workload={"kind": "transfer", "size": "120 KiB"}
)


@pytest.mark.finding("U2")
@pytest.mark.parametrize(
    ("setting", "limit"),
    [
        # A window of half the capacity leaves the medium idle between the bursts of each RTT.
        (Setting("wlan", 4.5, 4.5, 60.0, receive_kib=24), "receive_window"),
        (Setting("wlan", 4.5, 4.5, 60.0), "bottleneck"),
        # The queue of an upload that began before is no wait for a grant.
        (replace(LATE, upload=True), "ack_path"),
        (LATE, "none"),
    ],
)
def test_limit_on_a_medium_is_that_of_the_flow(setting: Setting, limit: str, tmp_path: Path) -> None:
    (row,) = evaluate([setting], tmp_path)
    assert row.named == limit


def test_hop_has_its_account_of_time() -> None:
    run = ackclock.simulate("wifi-80211b", [{"workload": {"kind": "bulk"}}], duration="2 s")
    for hop in run.document["hops"]:
        assert hop["time"].keys() == {"sending", "overhead", "blocked", "idle"}
        assert sum(hop["time"].values()) == pytest.approx(1.0)


def test_reported_limit_is_the_one_whose_relaxation_helps() -> None:
    """docs/evidence/limits.md has the share over all kinds of hop and limit, and every row that
    misses.
    """
    rows = sample(GATE_SEED, GATE_ROWS)
    wrong = [(row.setting, row.truth, row.named) for row in rows if not row.right]
    assert len(rows) == GATE_ROWS
    assert len(wrong) <= 0.03 * GATE_ROWS, wrong
