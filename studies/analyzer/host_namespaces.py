"""Two hosts and a path between them, in network namespaces inside a user namespace of their own.

The path is `client - client-edge - server-edge - server`. The hosts have GSO, TSO and GRO on, as
hosts have by default. The edges segment in software (their interfaces to the hosts and to each
other have TSO off), so that every packet on the path has the size of a packet on a wire, and the
receiving host merges packets by GRO. Between the edges is a veth pair or, where the path delays,
loses or reorders packets, the emulator (`ackclock emulate --pair`). A token bucket (tc tbf) limits
the direction towards the client, and another the direction towards the server.

`enter_user_namespace` needs no root where user namespaces are permitted. Processes, namespaces and
interfaces end with the process, also if it is killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

INSIDE = "ACKCLOCK_TESTBED"
"""Environment variable that marks a process in the testbed's user namespace."""
CLIENT, SERVER = ("100.64.0.2", "fd5c:acc1:c::2"), ("10.9.2.2", "fd09:2::2")
"""The hosts' addresses. The client has that of the emulator's client, to which the emulator
delivers."""
SCRATCH = "/run"
"""A folder inside that vanishes with the namespace."""
UNANSWERED = "10.9.3.1"
"""An address behind the path at which packets vanish without an answer."""
HOSTS = ("client", "server")
OFFLOADS = ("gso", "tso", "gro")
_GATEWAYS = {"client": "10.9.1.1", "server": "10.9.2.1"}
_READY_S = 20.0
_PR_SET_PDEATHSIG = 1
_USER = 1000


@dataclass(frozen=True)
class TokenBucket:
    """A `tc tbf`: rate in bit/s, burst and limit in bytes."""

    rate_bps: int
    burst_bytes: int
    limit_bytes: int

    def commands(self, interface: str) -> list[list[str]]:
        """Arguments of tc."""
        size = f"burst {self.burst_bytes} limit {self.limit_bytes}"
        return [f"qdisc add dev {interface} root tbf rate {self.rate_bps}bit {size}".split()]


@dataclass(frozen=True)
class HierarchicalTokenBucket:
    """A `tc htb` of one class before a FIFO: rate in bit/s, burst in bytes and limit in packets."""

    rate_bps: int
    burst_bytes: int
    limit_packets: int

    def commands(self, interface: str) -> list[list[str]]:
        """Arguments of tc."""
        size = f"burst {self.burst_bytes} cburst {self.burst_bytes}"
        return [
            command.split()
            for command in (
                f"qdisc add dev {interface} root handle 1: htb default 1",
                f"class add dev {interface} parent 1: classid 1:1 htb rate {self.rate_bps}bit {size}",
                f"qdisc add dev {interface} parent 1:1 pfifo limit {self.limit_packets}",
            )
        ]


@dataclass(frozen=True)
class PathConfig:
    """The path and the hosts' settings.

    `link`: keys of a hop of the emulator's link file, or None for a veth pair; `down`, `up`: token
    buckets towards the client and the server; `whole_segments`: the bucket drops super-segments as
    the host sent them, before they are segmented (only without a link); `sysctls`: of both hosts;
    `mtu`: up to 9000 without a link, 1500 with one; `seed`: of the link's random numbers;
    `offloads`: GSO, TSO and GRO of the hosts.
    """

    link: Mapping[str, Any] | None = None
    down: TokenBucket | HierarchicalTokenBucket | None = None
    up: TokenBucket | HierarchicalTokenBucket | None = None
    whole_segments: bool = False
    congestion_control: str = "cubic"
    sysctls: Mapping[str, str] = field(default_factory=dict)
    mtu: int = 1500
    seed: int = 1
    offloads: bool = True


def enter_user_namespace(argv: Sequence[str]) -> int | None:
    """Outside: run the Python module and arguments `argv` in a user, mount, network and PID
    namespace, and return its exit status. Inside: mount a private /run for names of namespaces, and
    return None.

    The user in the namespace is not root, but has all capabilities there: tcpdump, started by root,
    changes to a user that the namespace does not have.
    """
    if os.environ.get(INSIDE):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"ackclock", b"/run", b"tmpfs", 0, None) != 0:
            raise OSError(ctypes.get_errno(), "mounting a private /run")
        Path("/run/netns").mkdir()
        # The first process of a PID namespace ignores signals that it does not handle.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return None
    unshare = [
        "unshare",
        "--user",
        f"--map-user={_USER}",
        f"--map-group={_USER}",
        "--keep-caps",
        "--mount",
        "--net",
        "--pid",
    ]
    unshare += ["--fork", "--kill-child", "--mount-proc", sys.executable, "-m", *argv]
    return subprocess.run(unshare, env={**os.environ, INSIDE: "1"}, check=False, preexec_fn=_end_with_parent).returncode


def _end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends. `unshare` ignores SIGTERM, and its
    own end kills the namespace.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Testbed:
    """The hosts and the path, as a context manager. `folder` receives the emulator's run."""

    def __init__(self, path: PathConfig, folder: Path) -> None:
        self._path = path
        self._folder = folder
        self._stack = ExitStack()
        self._emulator: subprocess.Popen[str] | None = None
        self._edges = {host: f"{host}-edge" for host in HOSTS}
        self._processes: list[subprocess.Popen[Any]] = []

    def __enter__(self) -> Testbed:
        try:
            self._make_path()
            for host in HOSTS:
                self._make_host(host)
            self._set_buckets()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, the emulator and the namespaces."""
        for process in self._processes:
            end(process)
        self._processes.clear()
        self.end_emulator()
        for name in (*HOSTS, *self._edges.values()):
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def end_emulator(self) -> None:
        """End the emulator, which then writes its run folder."""
        if self._emulator is not None:
            end(self._emulator, seconds=20.0)
            self._emulator = None

    def start(
        self, host: str, command: Sequence[str], output: IO[Any] | int = subprocess.DEVNULL, **keys: Any
    ) -> subprocess.Popen[Any]:
        """Start a command on a host; it ends with the testbed at the latest."""
        # Standard error goes with standard output unless `keys` say otherwise.
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT, **keys}
        process = subprocess.Popen(["ip", "netns", "exec", host, *command], **streams)
        self._processes.append(process)
        return process

    def edge(self, host: str) -> str:
        """The namespace of a host's edge."""
        return self._edges[host]

    def start_tcpdump(self, host: str, path: Path, snap_bytes: int, expression: str = "tcp") -> subprocess.Popen[Any]:
        """Capture a host's packets of `expression` into `path`. Returns when the capture has
        begun.
        """
        command = ["tcpdump", "-i", "eth0", "-n", "-s", str(snap_bytes), "-B", "16384", "-w", str(path), expression]
        dump = self.start(host, command, subprocess.PIPE)
        assert dump.stdout is not None
        line = dump.stdout.readline()
        if b"listening" not in line:
            raise RuntimeError(f"tcpdump at the {host}: {line.decode()}")
        return dump

    def output(self, namespace: str, *command: str) -> str:
        """Run a command in a namespace. Return its output."""
        return _run("ip", "netns", "exec", namespace, *command)

    def wait_until_listening(self, port: int) -> None:
        """Wait until a server's process listens on a TCP port."""
        deadline = time.monotonic() + _READY_S
        while not _run("ss", "-N", "server", "-Htln", f"sport = :{port}").strip():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no process listens on port {port} of the server")
            time.sleep(0.05)

    def bucket_drops(self) -> dict[str, int]:
        """Packets that each token bucket dropped; a super-segment counts once."""
        drops = {}
        for name, (namespace, interface) in self._bucket_interfaces().items():
            document = json.loads(_run("tc", "-n", namespace, "-s", "-j", "qdisc", "show", "dev", interface))
            # A class's queue counts what its root counts as well.
            drops[name] = sum(qdisc["drops"] for qdisc in document if qdisc["kind"] in ("tbf", "htb"))
        return drops

    def offloads(self, host: str) -> dict[str, bool]:
        """Whether TSO, GSO and GRO of a host's interface are on."""
        lines = self.output(host, "ethtool", "-k", "eth0").splitlines()
        states = dict(line.strip().split(": ") for line in lines[1:] if ": " in line)
        names = {
            "tso": "tcp-segmentation-offload",
            "gso": "generic-segmentation-offload",
            "gro": "generic-receive-offload",
        }
        return {short: states[name].startswith("on") for short, name in names.items()}

    def _make_path(self) -> None:
        for host in HOSTS:
            _run("ip", "netns", "add", host)
        if self._path.link is not None:
            self._start_emulator(self._path.link)
            interfaces = dict(zip(HOSTS, HOSTS, strict=True))
        else:
            client, server = (self._edges[host] for host in HOSTS)
            for edge in (client, server):
                _run("ip", "netns", "add", edge)
            _run(*f"ip link add path netns {client} type veth peer name path netns {server}".split())
            for edge, number in ((client, 1), (server, 2)):
                _run(*f"ip -n {edge} addr add 10.9.9.{number}/24 dev path".split())
                _run(*f"ip -n {edge} addr add fd09:9::{number}/64 dev path nodad".split())
                _run(*f"ip -n {edge} link set path mtu {self._path.mtu} up".split())
                _run("ip", "netns", "exec", edge, "ethtool", "-K", "path", "tso", "off")
            interfaces = {"client": "path", "server": "path"}
        for host in HOSTS:
            edge, far = self._edges[host], "server" if host == "client" else "client"
            for family in ("4", "6"):
                gateway = [] if self._path.link is not None else ["via", _edge_address(far, family)]
                _run("ip", "-n", edge, f"-{family}", "route", "replace", "default", *gateway, "dev", interfaces[host])
            for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
                self.output(edge, "sysctl", "-qw", f"{key}=1")
        _run("ip", "-n", self._edges["server"], "route", "add", "blackhole", UNANSWERED)
        self._interfaces = interfaces

    def _start_emulator(self, hop: Mapping[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        link = self._folder / "link.toml"
        link.write_text(link_file(hop), encoding="utf-8")
        argv = [sys.executable, "-m", "ackclock", "emulate", str(link), "--pair", "--name", "link", "--no-report"]
        argv += ["--seed", str(self._path.seed), "--out", str(self._folder / "run"), "--force"]
        output = subprocess.PIPE
        self._emulator = subprocess.Popen(
            argv, text=True, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        self._edges = {host: f"link-{host}" for host in HOSTS}
        _wait_for(self._emulator, "link-client:")
        for host, (v4, v6) in (("client", CLIENT), ("server", ("100.64.0.1", "fd5c:acc1:c::1"))):
            # The hosts behind the edges have these addresses, or none has.
            _run(*f"ip -n link-{host} addr del {v4}/15 dev {host}".split())
            _run(*f"ip -n link-{host} addr del {v6}/96 dev {host}".split())

    def _make_host(self, host: str) -> None:
        edge, (v4, v6), gateway = self._edges[host], CLIENT if host == "client" else SERVER, _GATEWAYS[host]
        _run(*f"ip link add eth0 netns {host} type veth peer name host netns {edge}".split())
        for key, value in {
            "net.ipv6.conf.all.accept_dad": "0",
            "net.ipv6.conf.default.accept_dad": "0",
            **self._path.sysctls,
        }.items():
            self.output(host, "sysctl", "-qw", f"{key}={value}")
        _run(*f"ip -n {host} link set lo up".split())
        for namespace, interface in ((host, "eth0"), (edge, "host")):
            _run(*f"ip -n {namespace} link set {interface} mtu {self._path.mtu} up".split())
        _run(*f"ip -n {host} addr add {v4}/32 dev eth0".split())
        _run(*f"ip -n {host} addr add {v6}/128 dev eth0 nodad".split())
        _run(*f"ip -n {edge} addr add {gateway}/32 dev host".split())
        _run(*f"ip -n {edge} addr add fe80::1/64 dev host nodad".split())
        _run(*f"ip -n {host} route add {gateway} dev eth0 src {v4}".split())
        # The sysctl accepts only the machine's allowed congestion controls; a route's attribute
        # accepts all.
        control = self._path.congestion_control
        _run(*f"ip -n {host} route add default via {gateway} src {v4} congctl {control}".split())
        _run(*f"ip -n {host} -6 route add default via fe80::1 dev eth0 src {v6} congctl {control}".split())
        _run(*f"ip -n {edge} route add {v4}/32 dev host".split())
        _run(*f"ip -n {edge} -6 route add {v6}/128 dev host".split())
        # veth passes packets to GRO only if its peer has no TSO.
        self.output(edge, "ethtool", "-K", "host", "tso", "off")
        state = "on" if self._path.offloads else "off"
        self.output(host, "ethtool", "-K", "eth0", *(word for name in OFFLOADS for word in (name, state)))

    def _set_buckets(self) -> None:
        for name, (namespace, interface) in self._bucket_interfaces().items():
            bucket = self._path.down if name == "down" else self._path.up
            assert bucket is not None
            for command in bucket.commands(interface):
                _run("tc", "-n", namespace, *command)

    def _bucket_interfaces(self) -> dict[str, tuple[str, str]]:
        """By direction, the edge and the interface of a bucket: at the near edge before
        segmentation, at the far edge after it."""
        whole, path = self._path.whole_segments, self._interfaces
        down = (self._edges["server"], path["server"]) if whole else (self._edges["client"], "host")
        up = (self._edges["client"], path["client"]) if whole else (self._edges["server"], "host")
        present = {"down": (self._path.down, down), "up": (self._path.up, up)}
        return {name: interface for name, (bucket, interface) in present.items() if bucket is not None}


def link_file(hop: Mapping[str, Any]) -> str:
    """A link file of one hop; values are TOML."""
    lines = "".join(f"{key} = {value}\n" for key, value in hop.items())
    return f'title = "testbed"\nsource = "studies/analyzer/host_namespaces.py"\n[[hop]]\nname = "path"\n{lines}'


def end(process: subprocess.Popen[Any], seconds: float = 5.0) -> None:
    """SIGTERM, and SIGKILL after `seconds`."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    if process.poll() is None:
        process.kill()
        process.wait()


def end_tcpdump(dump: subprocess.Popen[Any]) -> int:
    """End a capture. Return the number of packets that it missed."""
    dump.send_signal(signal.SIGINT)
    text = dump.communicate(timeout=10)[0].decode()
    found = re.search(r"(\d+) packets dropped by kernel", text)
    if found is None:
        raise RuntimeError(f"tcpdump reports no drops: {text}")
    return int(found[1])


def _edge_address(host: str, family: str) -> str:
    number = 1 if host == "client" else 2
    return f"10.9.9.{number}" if family == "4" else f"fd09:9::{number}"


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read the process's output until a line has `text`."""
    assert process.stdout is not None
    timer, lines = threading.Timer(_READY_S, process.kill), []
    timer.start()
    try:
        for line in process.stdout:
            if text in line:
                return
            lines.append(line)
    finally:
        timer.cancel()
    raise RuntimeError(f"the emulator is not ready: {''.join(lines)}")
