"""Socket buffers of long paths, and the settings that the reasons name: each is typed into another
simulation and must give the gain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

import ackclock
from ackclock.comparison import Comparison, compare
from ackclock.comparison.socket_buffers import HostBuffers
from ackclock.errors import InputError
from ackclock.input.link.bottleneck import bdp_bytes
from ackclock.input.scenario.draft import draft_of

LONG: list[dict[str, Any]] = [
    {"name": "core", "rate": "1 Gb/s", "delay": "20 ms"},
    {
        "name": "satellite",
        "rate": {"down": "60 Mb/s", "up": "3 Mb/s"},
        "delay": "280 ms",
        "queue": {"kind": "droptail", "bytes": "2 MB"},
    },
]
"""2 BDP are 9 MB, more than three times what 4 MiB of tcp_wmem hold."""
ONE: dict[str, Any] = {"delayed_ack": [True], "seeds": 2, "duration": "15 s"}
SYSCTL = re.compile(r'sysctl -w net\.ipv4\.tcp_([wr])mem="(\d+) (\d+) (\d+)"')
OPTION = re.compile(r"SO_(SND|RCV)BUF = (\d+)")


def goodput(hops: list[dict[str, Any]], tcp: Mapping[str, Any]) -> float:
    """The mean goodput of one flow with these TCP keys, without any code of a comparison."""
    flow = {"name": "flow", "workload": {"kind": "bulk"}, **tcp}
    runs = ackclock.simulate({"hop": hops}, [flow], ONE["duration"], ONE["seeds"])
    return float(runs.flows["goodput_bps"].mean())  # type: ignore[arg-type]


def row(done: Comparison, buffers: str) -> Any:
    return next(one for one in done.ranking if one.configuration.send_buffer == buffers)


@pytest.fixture(scope="module")
def long_path() -> Comparison:
    return compare(LONG, variants=["cubic"], buffers=["64 KiB", "auto", "path"], **ONE)


def hops_of(hops: list[dict[str, Any]]) -> Any:
    flow = {"workload": {"kind": "bulk"}}
    return draft_of({"hop": hops, "duration": "1 s", "flow": [flow]}).check().hop


def test_bdp_is_the_lowest_rate_times_the_delays_of_both_directions() -> None:
    assert bdp_bytes(hops_of(LONG), "down") == pytest.approx(60e6 * 0.6 / 8)
    assert bdp_bytes(hops_of(LONG), "up") == pytest.approx(3e6 * 0.6 / 8)
    assert bdp_bytes(hops_of([{"name": "open", "delay": "1 s"}]), "down") is None


@pytest.mark.finding("U16")
@pytest.mark.parametrize(
    ("host", "direction", "found"),
    [
        # 9 MB of payload in segments of 1448 B that the kernel charges with 1448 + 856 B.
        ("linux-6", "down", "auto:14 MiB"),
        ("linux-6", "up", None),  # 2 BDP are 450 kB
        ("ns2", "down", None),  # its window is 100 MB
        ("bsd-1997", "down", "9 MiB"),
        ("windows-xp", "down", None),  # no window scaling: 65,535 B are the maximum
    ],
)
def test_buffer_of_the_path_is_two_bdp_where_the_host_s_own_is_smaller(
    host: str, direction: str, found: str | None
) -> None:
    wanted = ["64 KiB", "auto", *([found] if found else [])]
    assert HostBuffers.of(host).for_path(["64 KiB", "auto", "path"], hops_of(LONG), direction) == wanted


@pytest.mark.finding("U16")
def test_maximum_of_autotuning_is_an_error_on_a_host_without_autotuning() -> None:
    with pytest.raises(InputError, match=r"buffers: found \"auto:1 MiB\".*windows-xp does not tune"):
        compare("dsl-16m", host="windows-xp", buffers=["auto:1 MiB"], **ONE)


@pytest.mark.finding("U19")
@pytest.mark.parametrize(
    ("buffer", "words"),
    [
        ("64", 'buffers: found "64" without a unit; allowed: a size with a unit, such as "64 KiB"; auto; auto:SIZE; path '
         "(did you mean 64 KiB?)"),
        ("auto:24", "(did you mean auto:24 KiB?)"),
        (("auto", "64"), 'found "64"'),
        ("much", 'found "much"'),
    ],
)  # fmt: skip
def test_error_for_a_buffer_names_all_forms(buffer: Any, words: str) -> None:
    with pytest.raises(InputError) as error:
        compare("dsl-16m", buffers=[buffer], **ONE)
    assert words in str(error.value)


@pytest.mark.finding("U16")
def test_reason_names_sysctl_lines_that_give_the_gain_when_simulated(long_path: Comparison) -> None:
    auto, path = row(long_path, "auto"), row(long_path, "auto:14 MiB")
    assert path.metrics["goodput_bps"].mean > 1.3 * auto.metrics["goodput_bps"].mean
    (_, _, _, wmem), (_, _, _, rmem) = SYSCTL.findall(auto.why)
    typed = goodput(LONG, {"variant": "cubic", "send_limit": f"{wmem} B", "receive_limit": f"{rmem} B"})
    assert typed == pytest.approx(path.metrics["goodput_bps"].mean, rel=0.01)
    promised = re.search(r"carry ([\d.]+) Mb/s, ([\d.]+) % more", auto.why)
    assert promised is not None
    assert typed / 1e6 == pytest.approx(float(promised[1]), rel=0.01)
    assert typed / auto.metrics["goodput_bps"].mean - 1 == pytest.approx(float(promised[2]) / 100, rel=0.02)
    assert [one["who"] for one in path.settings] == ["sender", "receiver"]
    assert all(one["command"] in long_path.document["verdict"] for one in path.settings)


@pytest.mark.finding("U16")
def test_reason_names_no_setting_when_larger_buffers_do_not_help() -> None:
    lossy = [LONG[0], {**LONG[1], "loss": {"down": 0.01}}]
    done = compare(lossy, variants=["cubic"], buffers=["auto", "path"], **ONE)
    assert len(done.ranking) == 2
    assert "sysctl" not in row(done, "auto").why
    done = compare("dsl-16m", variants=["cubic"], buffers=["64 KiB", "auto", "path"], **ONE)
    assert len(done.ranking) == 2  # autotuning reaches 2 BDP
    assert "sysctl" not in done.document["verdict"]


@pytest.mark.finding("U16")
def test_reason_of_a_small_fixed_buffer_asks_for_automatic_ones_when_they_carry_more() -> None:
    done = compare("dsl-16m", variants=["cubic"], buffers=["16 KiB", "auto"], **ONE)
    small = row(done, "16 KiB")
    factor = row(done, "auto").metrics["goodput_bps"].mean / small.metrics["goodput_bps"].mean
    assert f", {factor:.2g} times as much: " in small.why
    assert "set neither SO_SNDBUF nor SO_RCVBUF" in small.why
    assert "SO_" not in row(done, "auto").why


@pytest.mark.finding("U16")
def test_socket_options_of_a_fixed_buffer_hold_its_payload_by_the_kernel_s_rules() -> None:
    host = HostBuffers.of("linux-6")
    for kib in (64, 1024):
        lines = [one["command"] for one in host.settings(f"{kib} KiB", f"{kib} KiB")]
        options = {end: int(value) for line in lines for end, value in OPTION.findall(line)}
        # The kernel doubles the value; a segment of 1448 B is charged 1448 + 856 B, and 160/256 of
        # the receive buffer is advertised.
        assert 2 * options["SND"] * 1448 / (1448 + 856) == pytest.approx(kib * 1024, abs=2)
        assert 2 * options["RCV"] * 0.625 == pytest.approx(kib * 1024, abs=2)
        assert (f"net.core.wmem_max={options['SND']}" in " ".join(lines)) == (options["SND"] > 212_992)
    assert host.settings("auto", "auto") == []
    # Windows does not double it, and has no sysctl.
    assert HostBuffers.of("windows-vista").settings("auto", "1 MiB") == [
        {"who": "receiver", "command": "SO_RCVBUF = 1048576"}
    ]
    assert HostBuffers.of("windows-xp").settings("64 KiB", "auto") == [
        {"who": "sender", "command": "SO_SNDBUF = 65536"}
    ]


@pytest.mark.slow
@pytest.mark.finding("U16")
@pytest.mark.parametrize(("link", "helped"), [("geo-100m", True), ("geo-100m-pep", False), ("geo-satellite", False)])
def test_every_line_of_a_long_packaged_link_gives_what_it_promises(link: str, helped: bool) -> None:
    variants = ["reno", "cubic", "bbr"]
    done = compare(link, variants=variants, buffers=["auto", "path"], delayed_ack=[True], seeds=3, duration="20 s")
    assert len(done.ranking) == 2 * len(variants)
    lines = {one.configuration.variant: one.why for one in done.ranking if SYSCTL.search(one.why)}
    assert bool(lines) == helped
    for variant, why in lines.items():
        (_, _, _, wmem), (_, _, _, rmem) = SYSCTL.findall(why)
        keys = {"variant": variant, "send_limit": f"{wmem} B", "receive_limit": f"{rmem} B"}
        flow = {"name": "flow", "workload": {"kind": "bulk"}, **keys}
        run = ackclock.simulate(link, [flow], "20 s", 3, phase_jitter=True)
        promised = re.search(r"carry ([\d.]+) Mb/s", why)
        assert promised is not None
        assert run.flows["goodput_bps"].mean() == pytest.approx(float(promised[1]) * 1e6, rel=0.01), variant
