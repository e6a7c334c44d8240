"""A page of 50 objects in headless Chromium: `python -m studies.apps.browser serve` has the page,
`load HOST FILE` loads it five times and writes a HAR and the load times. Both run inside an
emulated network, or on the loopback interface for the HAR.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from studies.pictures.chromium import Chromium

FIRST_PORT, LOADS = 8080, 5
"""Each load has a port of its own, and with it connections of its own."""
TIMEOUT_S = 60.0
SHEETS, SCRIPTS, IMAGES = 4, 12, 30
"""The document names these. The first sheet names an image, the first script inserts two."""
SIZES = {"css": 8_000, "js": 20_000, "svg": 25_000}
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def _size(kind: str, number: int) -> int:
    """Sizes of a kind from half to one and a half of its mean."""
    return SIZES[kind] * (50 + 100 * (7 * number % 11) // 10) // 100


def document() -> bytes:
    """The HTML, with 18 kB of comment."""
    sheets = "".join(f'<link rel="stylesheet" href="/{number}.css">' for number in range(SHEETS))
    scripts = "".join(f'<script defer src="/{number}.js"></script>' for number in range(SCRIPTS))
    images = "".join(f'<img src="/{number}.svg" width="40" height="40">' for number in range(IMAGES))
    head = f'<!doctype html><title>page</title><link rel="icon" href="data:,">{sheets}{scripts}'
    return f"{head}<body>{images}<!--{'x' * 18_000}--></body>".encode()


def content(name: str) -> tuple[bytes, str]:
    """The body of a path, and its type."""
    stem, _, kind = name.strip("/").partition(".")
    if not stem:
        return document(), "text/html"
    number = int(stem)
    text = {"css": "", "js": "", "svg": '<svg xmlns="http://www.w3.org/2000/svg"></svg>'}[kind]
    if (kind, number) == ("css", 0):
        text = f"body {{ background: url(/{IMAGES}.svg) }}"
    if (kind, number) == ("js", 0):
        inserted = "".join(f'<img src="/{IMAGES + n}.svg" width="40">' for n in (1, 2))
        text = f"document.body.insertAdjacentHTML('beforeend', '{inserted}');"
    padding = "x" * (_size(kind, number) - len(text))
    return (text + (f"<!--{padding}-->" if kind == "svg" else f"/*{padding}*/")).encode(), KINDS[kind]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        body, kind = content(self.path)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def serve() -> None:
    """Serve until killed."""
    for number in range(1, LOADS):
        threading.Thread(target=_Server(("", FIRST_PORT + number), _Handler).serve_forever, daemon=True).start()
    _Server(("", FIRST_PORT), _Handler).serve_forever()


def load(host: str, file: Path) -> None:
    """Load the page and write `{"loads": [{"load_s", "cpu_s", "requests", "bytes"}, ..], "har"}`;
    the HAR is that of the last load.
    """
    loads: list[dict[str, Any]] = []
    har: dict[str, Any] = {}
    with Chromium(network=True) as browser, browser.tab() as tab:
        for domain in ("Page", "Network"):
            tab.call(f"{domain}.enable")
        tab.call("Network.setCacheDisabled", cacheDisabled=True)
        for number in range(LOADS):
            tab.events()
            before = browser.cpu_s()
            tab.call("Page.navigate", url=f"http://{host}:{FIRST_PORT + number}/")
            tab.wait("document.readyState === 'complete'")
            time.sleep(0.3)
            entries = _entries(tab.events())
            begin = min(entry["begin"] for entry in entries)
            loads.append({
                "load_s": max(entry["end"] for entry in entries) - begin,
                "cpu_s": browser.cpu_s() - before,
                "requests": len(entries),
                "bytes": sum(entry["bytes"] for entry in entries),
            })  # fmt: skip
            har = _har(entries, begin)
    file.write_text(json.dumps({"loads": loads, "har": har}), "utf-8")


def _entries(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests that were answered, with times in s."""
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        of: Mapping[str, Any] = event["params"]
        if event["method"] == "Network.requestWillBeSent" and of["request"]["url"].startswith("http"):
            initiator = of["initiator"]
            frames = initiator.get("stack", {}).get("callFrames", [])
            url = initiator.get("url") or (frames[0]["url"] if frames else "")
            found[of["requestId"]] = {"url": of["request"]["url"], "initiator": url, "begin": of["timestamp"]}
        elif event["method"] == "Network.loadingFinished" and of["requestId"] in found:
            found[of["requestId"]] |= {"end": of["timestamp"], "bytes": int(of["encodedDataLength"])}
    return [entry for entry in found.values() if "end" in entry]


def _har(entries: list[dict[str, Any]], begin: float) -> dict[str, Any]:
    origin = datetime(2026, 1, 1, tzinfo=UTC)

    def entry(one: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "startedDateTime": (origin + timedelta(seconds=one["begin"] - begin)).isoformat(),
            "time": 1e3 * (one["end"] - one["begin"]),
            "request": {"url": one["url"]},
            "response": {"status": 200, "_transferSize": one["bytes"], "content": {"size": one["bytes"]}},
            "_initiator": {"url": one["initiator"]},
        }

    return {"log": {"version": "1.2", "entries": [entry(one) for one in entries]}}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        load(sys.argv[2], Path(sys.argv[3]))
