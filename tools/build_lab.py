"""Put the files of the lab page together: `make lab`.

python tools/build_lab.py MODULES FOLDER ...

FOLDER gets the page of lab/, the WebAssembly of the folder MODULES, the catalogue of
the packaged links, and the library for charts, whose files must have their known SHA-256. The files
of a folder are replaced as a whole.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
from pathlib import Path

from ackclock.lab import catalogue

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "lab"
MODULES = ("engine.wasm", "form.wasm", "capture.wasm")
"""The page loads the last one for the first capture."""
VENDOR = {
    "vendor/uplot/LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    "vendor/uplot/uPlot.esm.js": "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    "vendor/uplot/uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""uPlot 1.6.32 (MIT), as its npm package has it."""


def main(arguments: list[str]) -> int:
    modules, *folders = (Path(argument) for argument in arguments)
    for name, digest in VENDOR.items():
        found = hashlib.sha256((PAGE / name).read_bytes()).hexdigest()
        if found != digest:
            print(f"lab/{name} is not the file that was reviewed: SHA-256 {found}", file=sys.stderr)
            return 1
    text = catalogue.text(catalogue.packaged())
    for folder in folders:
        build(folder, modules, text)
    for name in MODULES:
        module = (modules / name).read_bytes()
        print(f"{folders[0]}/{name}: {len(module):,} B, {len(gzip.compress(module, 9, mtime=0)):,} B gzipped")
    return 0


def build(folder: Path, modules: Path, text: str) -> None:
    """Write all files beside the folder, then exchange it."""
    beside = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(PAGE, beside)
    for name in MODULES:
        shutil.copyfile(modules / name, beside / name)
    (beside / "catalogue.json").write_text(text, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
