#!/bin/sh
# `make loop`: captures of a slow line, the link that made them, an advice, and the kernel's word on it. Expects ackclock
# on PATH; each part prints its time.
set -eu
out=runs/loop
began=$(date +%s)

say() { printf '\n== %s\n\n' "$1"; }
show() {
    printf '$ %s\n' "$*"
    part=$(date +%s)
    "$@"
    printf '(%s s)\n' "$(($(date +%s) - part))"
}

rm -rf "$out"
mkdir -p "$out"
say "Captures of both ends of a download over a slow line (simulated)"
show ackclock simulate examples/bloated-line.toml --pcap --quiet --no-report --out "$out/capture"
server=$out/capture/captures/download.server.pcap
client=$out/capture/captures/download.client.pcap

say "Which link made them?"
show ackclock fit "$server" "$client" -o "$out/link.toml" --quiet

say "What should change, and does the kernel's TCP over the emulated link confirm it?"
show ackclock advise "$server" "$client" --may receiver,router,operator --verify --quiet --out "$out/advice"

say "All together: $(($(date +%s) - began)) s; the report is $out/advice/report.html"
