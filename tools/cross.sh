#!/bin/sh
# Type-check crates for other operating systems: cross.sh "CRATES" TARGET.. (crates by the names of their folders).
# A target whose standard library rustup cannot add is skipped with a line.
set -eu
packages=
for crate in $1; do packages="$packages --package ackclock-$crate"; done
shift
skipped=0
for target; do
  if ! rustup target list --installed 2>/dev/null | grep -qx "$target" &&
     ! rustup --quiet target add "$target" >/dev/null 2>&1; then
    echo "cross: $target skipped: rustup cannot add it here"
    skipped=$((skipped + 1))
    continue
  fi
  # PYO3_NO_PYTHON: the stable ABI needs no Python of the target.
  # shellcheck disable=SC2086
  PYO3_NO_PYTHON=1 ${CARGO:-cargo} check --quiet --locked --target "$target" $packages
  echo "cross: $target compiles"
done
[ "$skipped" -lt $# ] || echo "cross: nothing was checked"
