#!/bin/sh
# `make demo`: the main job in small, on links that come with the package. Expects ackclock on PATH.
set -eu
out=runs/demo

say() { printf '\n== %s\n\n' "$1"; }
show() { printf '$ %s\n' "$*"; "$@"; }

say "Which TCP for a cable modem whose return path is a dial-up line? (3 seeds, 10 s each)"
show ackclock compare cable-dialup --quick --force --out "$out/compare"

say "Two downloads on a DSL line; at 10 s an upload begins"
show ackclock simulate examples/upload-hurts-download.toml --force --out "$out/simulate"

say "The reports are files that open without a network"
ls "$PWD/$out"/*/report.html
