#!/bin/sh
# Build and test crates/kernel-cc and install its program: kernel-cc.sh TARGET-FOLDER BIN-FOLDER.
# Lint it: kernel-cc.sh TARGET-FOLDER. Without its requirements it prints what is missing and exits
# with status 0, as nothing else depends on the crate.
set -eu
crate=$(dirname "$0")/../crates/kernel-cc
PATH=$PATH:/usr/sbin
missing=
for tool in clang bpftool; do
  command -v "$tool" >/dev/null || missing="$missing, $tool"
done
[ -r /sys/kernel/btf/vmlinux ] || missing="$missing, /sys/kernel/btf/vmlinux"
for header in libelf.h zlib.h; do # requirements of libbpf, which is built from source
  echo "#include <$header>" | ${CC:-cc} -E - >/dev/null 2>&1 || missing="$missing, $header"
done
if [ -n "$missing" ]; then
  echo "kernel-cc: skipped, as this machine lacks ${missing#, }"
  exit 0
fi
if [ $# -eq 1 ]; then
  exec ${CARGO:-cargo} clippy --quiet --release --locked --all-targets --manifest-path "$crate/Cargo.toml" --target-dir "$1" -- -D warnings
fi
for verb in build test; do
  ${CARGO:-cargo} "$verb" --quiet --release --locked --manifest-path "$crate/Cargo.toml" --target-dir "$1"
done
install -m 755 "$1/release/ackclock-kernel-cc" "$2/ackclock-kernel-cc"
echo "kernel-cc: $2/ackclock-kernel-cc; load the variants with \`ackclock kernel-cc load\`, as root"
