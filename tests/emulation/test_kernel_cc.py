"""The papers' variants in the running kernel: loading, selection by connections, comparison with
the simulator, unloading."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackclock import cli
from ackclock.emulation import kernel_cc
from ackclock.input.catalogue import variants
from studies.kernel.page import ABOUT_KERNEL_CC, BELOW, with_part
from studies.kernel.runs import LINKS, SEEDS, Unmeasured, faults, kernel, median, simulator
from tests.support.namespaces import namespaces

pytestmark = pytest.mark.realtime

BPFFS = Path("/sys/fs/bpf")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
TCP_CONGESTION = 13
BYTES = 1 << 20


def binary(*words: str) -> subprocess.CompletedProcess[str]:
    program = kernel_cc.find_binary()
    assert program is not None
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60)


def rows(*words: str) -> dict[str, bool]:
    """The loaded variants after a command."""
    done = binary(*words, "--json")
    assert done.returncode == 0, done.stderr
    return {row["kernel_name"]: row["loaded"] for row in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def loaded() -> Iterator[None]:
    """All five variants, in a kernel whose state is restored."""
    if kernel_cc.find_binary() is None:
        pytest.skip("no ackclock-kernel-cc: `make kernel-cc` builds it")
    if os.geteuid() != 0:
        pytest.skip("loading into the kernel needs root")
    mounted = str(BPFFS) in Path("/proc/mounts").read_text(encoding="utf-8").split()
    if not mounted and subprocess.run(["mount", "-t", "bpf", "bpf", str(BPFFS)], check=False).returncode:
        pytest.skip("no BPF file system, and none can be mounted")
    before = rows("list")
    assert all(rows("load").values())
    yield
    new = [variant for variant, name in kernel_cc.KERNEL_NAMES.items() if not before[name]]
    if new:
        assert not any(rows("unload", *new).values())
    if not mounted:
        subprocess.run(["umount", str(BPFFS)], check=True)


def download(name: str) -> tuple[str, int]:
    """The congestion control that the kernel reports for a connection, and the bytes received over
    loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as server:

            def send() -> None:
                server.sendall(bytes(BYTES))
                server.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send)
            sender.start()
            received = sum(len(piece) for piece in iter(lambda: client.recv(1 << 16), b""))
            sender.join()
            name_used = server.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16)
    return name_used.rstrip(b"\0").decode(), received


def test_kernel_cc_names_the_remedy_when_its_program_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cc, "find_binary", lambda: None)
    assert cli.run(["kernel-cc", "load"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ackclock-kernel-cc is not installed" in line
    assert "make kernel-cc" in line


def test_kernel_names_are_valid_for_every_variant() -> None:
    assert set(kernel_cc.KERNEL_NAMES) <= set(variants())
    assert all(len(name) < 16 and name.replace("_", "").isalnum() for name in kernel_cc.KERNEL_NAMES.values())


@pytest.mark.skipif(kernel_cc.find_binary() is None, reason="no ackclock-kernel-cc: `make kernel-cc` builds it")
def test_program_lists_the_names_of_the_python_table() -> None:
    if not AVAILABLE.exists():
        pytest.skip("not Linux")
    listed = json.loads(binary("list", "--json").stdout)
    assert {row["variant"]: row["kernel_name"] for row in listed} == kernel_cc.KERNEL_NAMES


@pytest.mark.skipif(kernel_cc.find_binary() is None, reason="no ackclock-kernel-cc: `make kernel-cc` builds it")
@pytest.mark.parametrize("words", [["load", "cubic"], ["lod"], [], ["list", "vega"]])
def test_program_prints_one_line_when_its_arguments_are_unknown(words: list[str]) -> None:
    done = binary(*words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


@pytest.mark.usefixtures("loaded")
def test_load_changes_nothing_when_the_variant_is_loaded() -> None:
    assert all(rows("load").values())
    assert AVAILABLE.read_text(encoding="ascii").split().count("ackclock_bic") == 1


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("name", kernel_cc.KERNEL_NAMES.values())
def test_connection_transfers_all_bytes_when_it_selects_a_loaded_variant(name: str) -> None:
    assert download(name) == (name, BYTES)


@pytest.mark.usefixtures("loaded")
def test_loaded_variant_is_selectable_without_privileges() -> None:
    select = f"import os, socket; os.setuid(65534); socket.socket().setsockopt(6, {TCP_CONGESTION}, b'ackclock_veno')"
    assert subprocess.run([sys.executable, "-c", select], check=False).returncode == 0


@pytest.mark.usefixtures("loaded")
def test_connection_keeps_its_variant_after_unload_and_new_connections_cannot_select_it() -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"ackclock_vegas")
        assert not any(rows("unload", "vegas").values())
        assert connection.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).startswith(b"ackclock_vegas")
        with pytest.raises(FileNotFoundError), socket.socket() as late:
            late.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"ackclock_vegas")
    assert all(rows("load", "vegas").values())


@pytest.mark.slow  # real time on a machine that may be busy: no gate
@pytest.mark.usefixtures("loaded")
@pytest.mark.skipif(not namespaces(), reason="this machine allows no network namespaces")
@pytest.mark.parametrize("variant", kernel_cc.KERNEL_NAMES)
@pytest.mark.parametrize("link", LINKS)
def test_simulator_agrees_with_the_loaded_variant(link: str, variant: str) -> None:
    try:
        measured = [kernel(link, variant, 15, seed) for seed in SEEDS]
    except Unmeasured as error:
        pytest.skip(f"the emulation's audit failed: {error}")
    simulated = simulator(link, variant, 15)
    assert not faults(median(simulated), median(measured)), f"kernel {measured}, simulator {simulated}"


def test_with_part_keeps_the_rest_of_the_page() -> None:
    new = ABOUT_KERNEL_CC.format(release="6") + "| new |\n"
    page = "# Title\n\n| old |\n\n" + BELOW + "\nwords\n"
    once = with_part(page, new)
    assert with_part(once, new) == once
    assert [part in once for part in ("| old |", "| new |", "words")] == [True] * 3
    twice = with_part(once, "# Title\n\n| newer |\n")
    assert twice == once.replace("| old |", "| newer |")
