"""A script's sysctls, socket options and commands as keys of the host stack."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock.input.objects import Tcp
from ackclock.packetdrill.stack_settings import StackSettings, stack_settings


def settings(
    *, sysctl: tuple[str, str] | None = None, command: str | None = None, option: str | None = None
) -> StackSettings:
    document: Any = {"options": [], "sysctls": [], "socket_options": [], "commands": [], "connects": False}
    if sysctl:
        document["sysctls"].append({"line": 1, "name": sysctl[0], "value": sysctl[1]})
    if command:
        document["commands"].append({"line": 1, "text": command})
    if option:
        document["socket_options"].append({"line": 1, "args": ["4", "SOL_IP", option, "[4]", "1"]})
    return stack_settings(document)


def test_product_in_tcp_rmem_is_the_limit_of_the_receive_buffer() -> None:
    found = settings(sysctl=("tcp_rmem", "4096 131072 $((32*1024*1024))"))
    assert not found.unsupported
    assert found.tcp.receive_limit == 33554432


@pytest.mark.parametrize("value", ["4096 131072 $((32 + 1))", "4096 131072 $(reboot)", "4096 131072"])
def test_other_shell_arithmetic_in_tcp_rmem_is_unsupported(value: str) -> None:
    assert [entry.why for entry in settings(sysctl=("tcp_rmem", value)).unsupported] == [
        f"{value!r} is not minimum, default and maximum"
    ]


@pytest.mark.parametrize(
    "command",
    [
        "nstat -n",
        "ethtool -K tun0 tso off gso off",
        "tc qdisc replace dev tun0 root pfifo",
        "echo 3 > /sys/module/tcp_cubic/parameters/hystart_detect",
    ],
)
def test_command_without_effect_on_packets_is_passed_over(command: str) -> None:
    assert settings(command=command) == StackSettings(Tcp(), [])


@pytest.mark.parametrize(("timestamps", "segment"), [("0", 1100), ("1", 1088)])
def test_segment_is_tcp_maxseg_less_timestamps(timestamps: str, segment: int) -> None:
    document: Any = {"options": [], "commands": [], "connects": False}
    document["sysctls"] = [{"line": 1, "name": "tcp_timestamps", "value": timestamps}]
    document["socket_options"] = [{"line": 2, "args": ["3", "SOL_TCP", "TCP_MAXSEG", "[1100]", "4"]}]
    assert stack_settings(document).tcp.segment == segment


def test_qdisc_fq_enables_pacing() -> None:
    assert settings(command="tc qdisc replace dev tun0 root fq") == StackSettings(Tcp(pacing=True), [])


@pytest.mark.parametrize(
    "command",
    [
        "tc qdisc replace dev tun0 root pfifo limit 0",
        "tc qdisc replace dev tun0 root netem loss 1%",
        "nstat",
        "ethtool -K tun0 rx off",
        "echo 1 > /sys/module/tcp_cubic/parameters/hystart_detect",
    ],
)
def test_command_that_would_change_packets_is_unsupported(command: str) -> None:
    assert [entry.why for entry in settings(command=command).unsupported] == [
        "commands are read for their sysctls and never executed"
    ]


def test_socket_option_ip_tos_leaves_tcp_as_it_is() -> None:
    assert settings(option="IP_TOS") == StackSettings(Tcp(), [])


@pytest.mark.parametrize(("timestamps", "segment"), [("0", "1440 B"), ("1", "1428 B")])
def test_segment_over_ipv6_is_20_bytes_smaller(timestamps: str, segment: str) -> None:
    document: Any = {"options": [["ip_version", "ipv6"]], "commands": [], "socket_options": []}
    document |= {"sysctls": [{"line": 1, "name": "tcp_timestamps", "value": timestamps}], "connects": False}
    assert stack_settings(document).tcp.segment == segment
