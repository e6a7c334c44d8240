"""Builds Linux as a program (ARCH=um) from Debian's source package, once per version and
configuration.

`python -m studies.virtual_kernel.build` prints the path of the program, or exits with status 77 and
one line that says why it cannot be had. Packages are downloaded and unpacked, not installed. The
program is kept in `$XDG_CACHE_HOME/ackclock/virtual-kernel/KEY`; source and objects (1.3 GB) are
removed after the build, which takes about 8 minutes of CPU.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "linux-source-6.12"
TOOLS = {"flex": "flex", "bison": "bison", "m4": "m4"}
"""Programs of the build that Debian's build-essential lacks, and their packages."""
LIBRARIES = ("libfl2",)
HZ = 1000
"""Ticks a second. Linux's default for this architecture is 100, which is too coarse for TCP."""
BANNER = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "ackclock", "KBUILD_BUILD_HOST": "ackclock"}
"""What the kernel's banner says of its build; the banner is a seed of its random numbers, too."""
CONFIGURATION = Path(__file__).with_name("kernel.config")
MISSING = 77
"""Exit status if the kernel cannot be had here."""


class Unavailable(Exception):
    """The kernel or something that it needs cannot be had on this machine."""


@dataclass(frozen=True)
class Kernel:
    """The program, Debian's version of its source, and the digest of its configuration."""

    program: Path
    version: str
    configuration: str

    @cached_property
    def build(self) -> str:
        """Digest of the program: another compiler makes another one, which draws other random
        numbers."""
        return hashlib.sha256(self.program.read_bytes()).hexdigest()[:12]


def cache() -> Path:
    """The folder of built kernels."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "ackclock" / "virtual-kernel"


def configuration_digest() -> str:
    """Digest of the configuration and of the tick, which together with the version make the key."""
    return hashlib.sha256(CONFIGURATION.read_bytes() + str(HZ).encode()).hexdigest()[:12]


def candidate() -> str | None:
    """Version of the source package that apt would download; None without apt or the package."""
    if shutil.which("apt-cache") is None:
        return None
    done = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", PACKAGE], capture_output=True, text=True, check=False
    )
    found = re.search(r"^Version: (\S+)$", done.stdout, re.MULTILINE)
    return found[1] if found else None


def built() -> Kernel | None:
    """The kernel of the candidate's version if it is built, else the last one built with this
    configuration; None if there is none."""
    digest = configuration_digest()
    programs = sorted(cache().glob(f"*-{digest}/linux"), key=lambda path: path.stat().st_mtime)
    kernels = [Kernel(path, path.parent.name.removesuffix(f"-{digest}"), digest) for path in programs]
    wanted = candidate()
    return next((kernel for kernel in kernels if kernel.version == wanted), kernels[-1] if kernels else None)


def build() -> Kernel:
    """The kernel; downloads and compiles it if it is not built. Raises Unavailable."""
    if kernel := built():
        return kernel
    version = candidate()
    if version is None:
        raise Unavailable(f"apt knows no package {PACKAGE}")
    for program in ("make", "cc", "ld", "bc", "dpkg-deb", "xz"):
        if shutil.which(program) is None:
            raise Unavailable(f"no {program}")
    folder = cache() / f"{version}-{configuration_digest()}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        _compile(Path(work), folder)
    return Kernel(folder / "linux", version, configuration_digest())


def _compile(work: Path, folder: Path) -> None:
    missing = [package for program, package in TOOLS.items() if shutil.which(program) is None]
    download(work, [PACKAGE, *missing, *(LIBRARIES if missing else ())])
    sys.stderr.write("virtual-kernel: compiling Linux, about 8 minutes of CPU\n")
    source, objects = work / "source", work / "objects"
    source.mkdir()
    objects.mkdir()
    archive = next((work / "root/usr/src").glob("*.tar.xz"))
    _run(["tar", "-xJf", str(archive), "-C", str(source), "--strip-components=1"], work)
    _set_tick(source / "arch/um/Kconfig")
    make = ["make", "-s", "ARCH=um", f"O={objects}"]
    environment = {**_tools_environment(work / "root"), **BANNER}
    _run([*make, "allnoconfig"], source, {**environment, "KCONFIG_ALLCONFIG": str(CONFIGURATION)})
    _require_configured(objects / ".config")
    _run([*make, f"-j{os.cpu_count() or 1}", "linux"], source, environment)
    _run(["strip", "-o", str(folder / "linux.new"), str(objects / "linux")], work)
    shutil.copy(objects / ".config", folder / "config")
    (folder / "linux.new").rename(folder / "linux")


def download(work: Path, packages: Sequence[str]) -> None:
    """Download Debian packages and unpack them into `work`/root. Raises Unavailable."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Unavailable("no apt-get and dpkg-deb")
    packed = work / "packages"
    packed.mkdir()
    done = subprocess.run(["apt-get", "download", *packages], cwd=packed, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"apt-get download {' '.join(packages)}: {done.stderr.strip().splitlines()[-1]}")
    for package in packed.glob("*.deb"):
        _run(["dpkg-deb", "-x", str(package), str(work / "root")], work)


def _tools_environment(root: Path) -> Mapping[str, str]:
    """Environment with which unpacked flex, bison and m4 find themselves."""
    path = os.environ["PATH"]
    libraries = ":".join(str(folder.parent) for folder in root.glob("usr/lib/*/libfl.so*"))
    return {
        "PATH": f"{root / 'usr/bin'}:{path}",
        "LD_LIBRARY_PATH": libraries,
        **({"BISON_PKGDATADIR": str(root / "usr/share/bison")} if (root / "usr/bin/bison").exists() else {}),
        **({"M4": str(root / "usr/bin/m4")} if (root / "usr/bin/m4").exists() else {}),
    }


def _set_tick(kconfig: Path) -> None:
    text, count = re.subn(r"(config HZ\n(?:\s+.*\n)*?\s+default) 100\n", rf"\1 {HZ}\n", kconfig.read_text("utf-8"))
    assert count == 1, f"{kconfig} has no tick of 100"
    kconfig.write_text(text, "utf-8")


def _require_configured(configured: Path) -> None:
    """allnoconfig drops a line whose dependency is missing without a word."""
    lines = set(configured.read_text("utf-8").splitlines())
    wanted = {line for line in CONFIGURATION.read_text("utf-8").splitlines() if line.endswith("=y")}
    if dropped := sorted(wanted - lines):
        raise Unavailable(f"this source takes no {', '.join(dropped)}")


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise RuntimeError(f"{' '.join(command)} failed:\n{tail}")


def main() -> int:
    try:
        print(build().program)
    except Unavailable as why:
        sys.stderr.write(f"virtual-kernel: skipped: {why}\n")
        return MISSING
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
