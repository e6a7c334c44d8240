#!/bin/sh
# Build and test crates/kernel-cc, and put its program where it is asked to: kernel-cc.sh TARGET-FOLDER BIN-FOLDER. Or lint it:
# kernel-cc.sh TARGET-FOLDER.
# Without what it needs it says so and does nothing, with success: nothing else here depends on it.
set -eu
crate=$(dirname "$0")/../crates/kernel-cc
PATH=$PATH:/usr/sbin
missing=
for tool in clang bpftool; do
  command -v "$tool" >/dev/null || missing="$missing, $tool"
done
[ -r /sys/kernel/btf/vmlinux ] || missing="$missing, /sys/kernel/btf/vmlinux"
for header in libelf.h zlib.h; do # libbpf is built from source, on these
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
