"""The papers' variants in the running kernel: loaded, used by connections, beside their simulator twins, and unloaded."""

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
    """Which are loaded, after such a command."""
    done = binary(*words, "--json")
    assert done.returncode == 0, done.stderr
    return {row["kernel_name"]: row["loaded"] for row in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def loaded() -> Iterator[None]:
    """All five, in a kernel that is left as it was."""
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
    """What the kernel says a connection of that congestion control uses, and the bytes that it brought over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name.encode())
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as server:

            def send() -> None:
                server.sendall(bytes(BYTES))
                server.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send)
            sender.start()
            got = sum(len(piece) for piece in iter(lambda: client.recv(1 << 16), b""))
            sender.join()
            used = server.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16)
    return used.rstrip(b"\0").decode(), got


def test_a_missing_program_is_one_clear_message(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cc, "find_binary", lambda: None)
    assert cli.run(["kernel-cc", "load"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "ackclock-kernel-cc is not installed" in line
    assert "make kernel-cc" in line


def test_every_name_is_a_variants_and_fits_the_kernels_limit() -> None:
    assert set(kernel_cc.KERNEL_NAMES) <= set(variants())
    assert all(len(name) < 16 and name.replace("_", "").isalnum() for name in kernel_cc.KERNEL_NAMES.values())


@pytest.mark.skipif(kernel_cc.find_binary() is None, reason="no ackclock-kernel-cc: `make kernel-cc` builds it")
def test_the_program_knows_the_same_names() -> None:
    if not AVAILABLE.exists():
        pytest.skip("not Linux")
    listed = json.loads(binary("list", "--json").stdout)
    assert {row["variant"]: row["kernel_name"] for row in listed} == kernel_cc.KERNEL_NAMES


@pytest.mark.skipif(kernel_cc.find_binary() is None, reason="no ackclock-kernel-cc: `make kernel-cc` builds it")
@pytest.mark.parametrize("words", [["load", "cubic"], ["lod"], [], ["list", "vega"]])
def test_the_program_refuses_what_it_does_not_know_with_one_line(words: list[str]) -> None:
    done = binary(*words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


@pytest.mark.usefixtures("loaded")
def test_loading_twice_is_loading_once() -> None:
    assert all(rows("load").values())
    assert AVAILABLE.read_text(encoding="ascii").split().count("ackclock_bic") == 1


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("name", kernel_cc.KERNEL_NAMES.values())
def test_a_connection_chooses_it_by_name_and_carries_its_bytes(name: str) -> None:
    assert download(name) == (name, BYTES)


@pytest.mark.usefixtures("loaded")
def test_a_program_without_privileges_may_choose_it() -> None:
    choose = f"import os, socket; os.setuid(65534); socket.socket().setsockopt(6, {TCP_CONGESTION}, b'ackclock_veno')"
    assert subprocess.run([sys.executable, "-c", choose], check=False).returncode == 0


@pytest.mark.usefixtures("loaded")
def test_a_connection_keeps_it_after_it_was_unloaded_and_new_ones_cannot_have_it() -> None:
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
def test_the_kernels_variant_and_the_simulators_agree(link: str, variant: str) -> None:
    try:
        theirs = [kernel(link, variant, 15, seed) for seed in SEEDS]
    except Unmeasured as error:
        pytest.skip(f"the emulation's own audit failed: {error}")
    ours = simulator(link, variant, 15)
    assert not faults(median(ours), median(theirs)), f"kernel {theirs}, simulator {ours}"


def test_a_new_table_leaves_the_rest_of_the_page() -> None:
    new = ABOUT_KERNEL_CC.format(release="6") + "| new |\n"
    page = "# Title\n\n| old |\n\n" + BELOW + "\nwords\n"
    once = with_part(page, new)
    assert with_part(once, new) == once
    assert [part in once for part in ("| old |", "| new |", "words")] == [True] * 3
    again = with_part(once, "# Title\n\n| newer |\n")
    assert again == once.replace("| old |", "| newer |")
