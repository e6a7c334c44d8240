"""Make .venv and put everything in it that `make` needs, from a bare Python and the package index
it is set up for.

Standard library only, because it runs before anything is installed. `requirements.lock` says what
is installed: exact versions, each with its hashes. The ways to an installer, in the order tried:

1. uv, where present;
2. the pip that `ensurepip` brings (Debian and Ubuntu ship it apart, as python3-venv);
3. any pip that can install into another environment (`pip --python`, since pip 22.3);
4. pip's own wheel, fetched from the configured index and checked against the hash in the lock.

usage: bootstrap.py [--venv DIR] [--lock FILE]
"""

from __future__ import annotations

import argparse
import configparser
import hashlib
import html.parser
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument("--lock", type=Path, default=ROOT / "requirements.lock")
    args = parser.parse_args()

    if sys.version_info < OLDEST:
        return run_again_with_newer_python()
    python = make_venv(args.venv)
    install(python, args.lock)
    # `uv pip install` and `pip install` leave alone what is right already, so a second run is
    # short.
    check = subprocess.run([python, "-c", "import polars, pydantic, scipy, maturin"], check=False)
    if check.returncode != 0:
        report("the environment does not import; remove it and try again: make distclean")
    return check.returncode


def run_again_with_newer_python() -> int:
    for minor in (13, 12, 11, 14):
        other = shutil.which(f"python3.{minor}")
        if other and succeeds([other, "-c", ""]):
            return subprocess.run([other, *sys.argv], check=False).returncode
    report(
        f"needs Python 3.11 or newer, found {sys.version.split()[0]} ({sys.executable}); make PYTHON=/path/to/python3"
    )
    return 1


def make_venv(venv: Path) -> Path:
    """The environment's Python. Made without pip, because `venv` alone is what every Python has."""
    python = venv / "bin" / "python"
    if works(python):
        return python
    if venv.exists():
        report(f"{venv} does not work (moved, or its Python is gone): making it again")
        shutil.rmtree(venv)
    report(f"making {venv} with {sys.executable} ({sys.version.split()[0]})")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    return python


def works(python: Path) -> bool:
    if not python.exists():
        return False
    return succeeds([str(python), "-c", f"import sys; sys.exit(sys.version_info < {OLDEST})"])


def install(python: Path, lock: Path) -> None:
    """Install the lock, by the first way that works."""
    want = ["install", "--quiet", "--requirement", str(lock)]
    for name, command in installers(python, lock):
        report(f"installing {lock.name} with {name}")
        if subprocess.run([*command, *want], check=False).returncode == 0:
            return
        report(f"{name} failed; trying the next way")
    raise SystemExit("bootstrap: no way to install is left. See the messages above: is the package index reachable?")


def installers(python: Path, lock: Path) -> Iterator[tuple[str, list[str]]]:
    uv = shutil.which("uv")
    if uv:
        os.environ["VIRTUAL_ENV"] = str(python.parent.parent)
        if index := index_url():
            os.environ.setdefault("UV_DEFAULT_INDEX", index)
        yield "uv", [uv, "pip"]
    quiet = ["--disable-pip-version-check", "--no-input"]
    own = [str(python), "-m", "pip"]
    if not succeeds([*own, "--version"]):
        succeeds([str(python), "-m", "ensurepip"])
    if succeeds([*own, "--version"]):
        yield "pip", [*own, *quiet]
        return
    for other in other_pips():
        yield "another Python's pip", [*other, "--python", str(python), *quiet]
    with tempfile.TemporaryDirectory() as folder:
        wheel = fetch_pip(Path(folder), lock)
        yield "pip's own wheel", [str(python), f"{wheel}/pip", *quiet]


def succeeds(command: list[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def other_pips() -> Iterator[list[str]]:
    found = [[sys.executable, "-m", "pip"], *([path] for name in ("pip3", "pip") if (path := shutil.which(name)))]
    for command in found:
        answer = subprocess.run([*command, "--version"], check=False, capture_output=True, text=True)
        version = re.match(r"pip (\d+)\.(\d+)", answer.stdout)
        if version and (int(version[1]), int(version[2])) >= (22, 3):
            yield command


def fetch_pip(folder: Path, lock: Path) -> Path:
    """Pip's wheel of the locked version, from the configured index; only a file with a locked hash
    is taken.
    """
    entry = re.search(r"^pip==(\S+)(?: |\\\n|--hash=sha256:[0-9a-f]+)*", lock.read_text(), re.MULTILINE)
    if entry is None:
        raise SystemExit(f"bootstrap: {lock} does not pin pip")
    hashes = set(re.findall(r"sha256:([0-9a-f]{64})", entry[0]))
    name = f"pip-{entry[1]}-py3-none-any.whl"
    index = index_url()
    if index is None:
        raise SystemExit(
            "bootstrap: no pip and no uv here: install one of them, or say in PIP_INDEX_URL where packages are"
        )
    page = index.rstrip("/") + "/pip/"
    report(f"no pip here: fetching {name}")
    links = Links()
    links.feed(get(page).decode())
    for link in links.found:
        address = urllib.parse.urljoin(page, link)
        if urllib.parse.urlparse(address).path.endswith("/" + name):
            wheel = get(address)
            if hashlib.sha256(wheel).hexdigest() not in hashes:
                raise SystemExit(f"bootstrap: {name} from the index is not the file that the lock names")
            (folder / name).write_bytes(wheel)
            return folder / name
    raise SystemExit(f"bootstrap: the package index has no {name}")


class Links(html.parser.HTMLParser):
    """The targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for key, value in attrs if tag == "a" and key == "href" and value]


def index_url() -> str | None:
    """The package index that was configured; pip and uv know their own where none was."""
    return os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_DEFAULT_INDEX") or pip_config("index-url")


def pip_config(key: str) -> str | None:
    """A setting from pip's configuration files: the environment's file wins over the user's over
    the machine's.
    """
    home = Path.home()
    user = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path("/etc/pip.conf"), home / ".pip" / "pip.conf", user / "pip" / "pip.conf"]
    if os.environ.get("PIP_CONFIG_FILE"):
        files.append(Path(os.environ["PIP_CONFIG_FILE"]))
    config = configparser.RawConfigParser()
    config.read(files)
    for section in ("install", "global"):
        if config.has_option(section, key):
            return config.get(section, key).strip()
    return None


def get(address: str) -> bytes:
    authority = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE") or pip_config("cert")
    context = ssl.create_default_context(cafile=authority)
    with urllib.request.urlopen(address, context=context, timeout=60) as answer:
        body: bytes = answer.read()
    return body


def report(text: str) -> None:
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
