"""Try a built wheel as a user would: install it in an empty environment, without a compiler, and
run every command. Then build the wheel of the sdist.

usage: try_wheel.py DIST [--no-sdist]

Prints a line for each step with its wall time. Exits with 1 at the first step that fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from bootstrap import index_url

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "upload-hurts-download.toml"
TAG = re.compile(r"ackclock-[0-9.]+-cp311-abi3-manylinux_2_(\d+)_\w+(\.manylinux\w+)?\.whl")
REQUIRED = ("links/dsl-16m.toml", "hosts/linux-6.toml", "py.typed", "report/templates/")
WARM_RUNS = 5
MAX_WARM_S = 0.5
"""Limit of `uvx --from WHEEL ackclock --version` when its environment is cached."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dist", type=Path)
    parser.add_argument("--no-sdist", action="store_true")
    args = parser.parse_args()
    wheels = sorted(args.dist.glob("ackclock-*.whl"))
    if len(wheels) != 1:
        print(f"{args.dist} has {len(wheels)} wheels; run `make wheel`", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        try:
            try_wheel(wheels[0].resolve(), Path(scratch))
            if not args.no_sdist:
                (sdist,) = args.dist.glob("ackclock-*.tar.gz")
                step("the sdist builds", lambda: build_sdist(sdist.resolve(), Path(scratch)))
        except Failed as failed:
            print(f"FAILED  {failed}")
            return 1
    return 0


class Failed(Exception):
    """A step that failed, with what it printed."""


def step(name: str, action: Callable[[], str | None]) -> None:
    """Run one step and print its name, its wall time and what it returns."""
    begin = time.perf_counter()
    note = action()
    print(f"{time.perf_counter() - begin:7.2f} s  {name}{f': {note}' if note else ''}", flush=True)


def try_wheel(wheel: Path, scratch: Path) -> None:
    """All steps with the wheel, in a virtual environment of its own."""
    bare = scratch / "venv"
    work = scratch / "work"
    work.mkdir()
    env = {"PATH": str(bare / "bin"), "HOME": str(scratch / "home"), "LANG": "C.UTF-8", "COLUMNS": "80"}

    def ran(*arguments: str) -> str:
        program, *rest = arguments
        return output([str(bare / "bin" / program), *rest], env, work)

    def listed() -> list[str]:
        code = "from typer.main import get_command; from ackclock.cli.app import app; print(*get_command(app).commands)"
        return ran("python", "-c", code).split()

    def helped(command: str) -> None:
        ran("ackclock", command, "-h")

    step("its tag and files", lambda: inspect(wheel))
    step("pip install, no compiler in PATH", lambda: install(wheel, bare, scratch))
    step("ackclock --version", lambda: ran("ackclock", "--version").strip())
    step("ackclockd --help", lambda: ran("ackclockd", "--help").splitlines()[0])
    for command in listed():
        step(f"ackclock {command} -h", partial(helped, command))
    step("doctor", lambda: failing(ran("ackclock", "doctor", "--json")))
    step("compare --quick", lambda: verdict(ran("ackclock", "compare", "dsl-16m", "--quick", "--json", "--out", "c")))
    simulate = ("ackclock", "simulate", str(EXAMPLE), "--pcap", "--quiet", "--out", "s")
    step("simulate --pcap", lambda: ran(*simulate).splitlines()[0])
    captures = [str(path) for path in sorted((work / "s").rglob("*.pcap*"))]
    step("analyze a capture", lambda: flows(ran("ackclock", "analyze", captures[0], "--json")))
    step(
        "reproduce --quick",
        lambda: ran("ackclock", "reproduce", "asymmetry", "--quick", "--quiet", "--out", "r") and None,
    )
    try_uvx(wheel, env, work)


def try_uvx(wheel: Path, env: Mapping[str, str], work: Path) -> None:
    """Measure `uvx --from WHEEL ackclock --version` with a warm cache, where uv is installed."""
    uv = shutil.which("uv")
    if uv is None:
        print("      -    uvx: skipped, uv is not installed")
        return
    index = index_url()
    # The user's PATH: uv may be a shell script of pyenv. Nothing is compiled here.
    own = {**env, "PATH": os.pathsep.join([env["PATH"], os.environ["PATH"]]), "UV_PYTHON": sys.executable}
    own |= {key: value for key, value in os.environ.items() if key.startswith(("UV_", "SSL_"))}
    own |= {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"}  # the certificates of this machine, as pip has
    own |= {"UV_DEFAULT_INDEX": index} if index else {}
    command = [uv, "tool", "run", "--from", str(wheel), "ackclock", "--version"]
    step("uvx ackclock --version, cold", lambda: output(command, own, work).strip())

    def warm(*options: str) -> str:
        times, cpu = [], []
        for _ in range(WARM_RUNS):
            begin, used = time.perf_counter(), cpu_of_children()
            output([*command[:3], *options, *command[3:]], own, work)
            times.append(time.perf_counter() - begin)
            cpu.append(cpu_of_children() - used)
        median = statistics.median(times)
        missed = "" if median < MAX_WARM_S else f", above {MAX_WARM_S} s at a load of {os.getloadavg()[0]:.1f}"
        return f"median {median:.2f} s of {WARM_RUNS}, {statistics.median(cpu):.2f} CPU s{missed}"

    # Online, uv asks an index that allows no caching for each requirement again.
    step("uvx ackclock --version, warm", warm)
    step("uvx --offline ackclock --version, warm", lambda: warm("--offline"))


def cpu_of_children() -> float:
    """CPU seconds, user and system, of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def output(command: list[str], env: Mapping[str, str], folder: Path) -> str:
    """What a command prints. Raises Failed unless it exits with 0."""
    done = subprocess.run(command, cwd=folder, env=dict(env), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def inspect(wheel: Path) -> str:
    """Check the platform tag and that the files that commands read are there."""
    tag = TAG.fullmatch(wheel.name)
    if tag is None:
        raise Failed(f"{wheel.name} has no manylinux tag of the stable ABI")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for part in REQUIRED:
        if not any(f"ackclock/{part}" in name for name in names):
            raise Failed(f"{wheel.name} lacks ackclock/{part}")
    return f"glibc 2.{tag[1]} or newer, {len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB"


def install(wheel: Path, bare: Path, scratch: Path) -> str:
    """Make a virtual environment without pip and install the wheel and what it requires."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(bare / "bin" / "python"), "--disable-pip-version-check"]
    env = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
    env |= {"PATH": str(bare / "bin"), "HOME": str(Path.home())}
    output([*pip, "install", "--quiet", "--only-binary", ":all:", f"{wheel}[report]"], env, scratch)
    size = sum(path.stat().st_size for path in bare.rglob("*") if path.is_file() and not path.is_symlink())
    return f"{size / 1e6:.0f} MB with its dependencies"


def build_sdist(sdist: Path, scratch: Path) -> str:
    """Build a wheel of the sdist, unoptimised: this checks that it has all sources."""
    env = {**os.environ, "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_PROFILE_RELEASE_DEBUG": "0"}
    env |= {"CARGO_TARGET_DIR": str(ROOT / "target" / "sdist")}
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    output([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", "from-sdist", str(sdist)], env, scratch)
    (wheel,) = (scratch / "from-sdist").glob("*.whl")
    return f"{sdist.stat().st_size / 1e6:.1f} MB -> {wheel.name}"


def failing(text: str) -> str:
    """The checks of `doctor` that do not work here."""
    missing = [check["name"] for check in json.loads(text)["checks"] if not check["works"]]
    return f"without {', '.join(missing)}" if missing else "everything works"


def verdict(text: str) -> str:
    """The first sentence of a comparison's verdict."""
    return str(json.loads(text)["verdict"]).split(":")[0]


def flows(text: str) -> str:
    """The number of flows of an analysis."""
    return f"{len(json.loads(text)['flows'])} flows"


if __name__ == "__main__":
    raise SystemExit(main())
