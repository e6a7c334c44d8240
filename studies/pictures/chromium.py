"""A headless Chromium, by the DevTools protocol over a pipe: pages as pictures, with what they say
on the console, what they request, and what sticks out of them.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 60.0
_LOW_FDS = 10
_EXEC = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
"""Chromium reads commands from descriptor 3 and writes answers to 4."""
MAX_HEIGHT = 12_000
"""Pixels of a picture; what is below is cut off."""

# Elements wider than the page that no box of their own scrolls.
_OVERFLOW = """(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = element => { for (let e = element.parentElement; e; e = e.parentElement) if (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX)) return true; return false; };
  const out = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > width + 1 && getComputedStyle(e).position !== "fixed" && !scrolls(e));
  return { page: document.documentElement.scrollWidth - width, elements: out.slice(0, 5).map(e => `${e.tagName.toLowerCase()}.${e.className.baseVal ?? e.className} ${(e.textContent || "").trim().slice(0, 40)}`) };
})()"""
_CLIPPED = """[...document.querySelectorAll(".chart svg")].filter(svg => svg.getBoundingClientRect().width > svg.closest(".chart").clientWidth + 1)
  .map(svg => svg.closest("figure").id)"""


@dataclass
class Seen:
    """A page as a browser shows it: console messages, requests besides the file, pixels by which it
    is wider than the window, elements that stick out, charts that are cut, and the milliseconds
    until the last chart was drawn.
    """

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    overflow: int = 0
    outside: list[str] = field(default_factory=list)
    clipped: list[str] = field(default_factory=list)
    drawn_ms: float = 0.0

    @property
    def faults(self) -> list[str]:
        """What a reader would notice, one line each."""
        found = [f"console: {text}" for text in self.messages] + [f"requested {url}" for url in self.requests]
        if self.overflow > 0:
            found.append(f"{self.overflow} px wider than the window: {'; '.join(self.outside) or 'unknown element'}")
        return found + [f"chart cut off: {name}" for name in self.clipped]


def program() -> str | None:
    """The path of a Chromium; None without one."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Chromium:
    """A browser as a context manager; without network unless ``network``."""

    def __init__(self, *, network: bool = False) -> None:
        path = program()
        if path is None:
            raise FileNotFoundError("no Chromium: apt-get install chromium")
        self._profile = tempfile.TemporaryDirectory(prefix="ackclock-chromium-", ignore_cleanup_errors=True)
        commands, self._write = _pipe()
        self._read, answers = _pipe()
        argv = [
            path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update",
            "--no-proxy-server" if network else "--proxy-server=127.0.0.1:9",
            f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", _EXEC, str(commands), str(answers), *argv],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._rest = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def open(self, page: Path, width: int, *, dark: bool = False, media: str = "screen", height: int = 900) -> Tab:
        """Open a file in a window of this width, in a colour scheme; wait until its charts are
        drawn."""
        tab = Tab(self, self.call("Target.createTarget", url="about:blank")["targetId"])
        tab.load(page, width, height, dark=dark, media=media)
        return tab

    def tab(self) -> Tab:
        """An empty page."""
        return Tab(self, self.call("Target.createTarget", url="about:blank")["targetId"])

    def cpu_s(self) -> float:
        """CPU time of the browser's processes so far."""
        return sum(_cpu_ticks(pid) for pid in _tree(self._process.pid)) / os.sysconf("SC_CLK_TCK")

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the protocol. Events that arrive before it are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def events(self, session: str) -> list[dict[str, Any]]:
        """The events of a session since the last call."""
        own = [event for event in self._events if event.get("sessionId") == session]
        self._events = [event for event in self._events if event.get("sessionId") != session]
        return own

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


class Tab:
    """A page that is open."""

    def __init__(self, browser: Chromium, target: str) -> None:
        self._browser = browser
        self._target = target
        self._session: str = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._seen = Seen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def load(self, page: Path, width: int, height: int, *, dark: bool, media: str) -> None:
        """Open a file and wait until its charts are drawn."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        began = time.monotonic()
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.drawn === 'yes'")
        self._seen.drawn_ms = (time.monotonic() - began) * 1e3

    def events(self) -> list[dict[str, Any]]:
        """What happened in the page since the last call."""
        return self._browser.events(self._session)

    def resize(self, width: int, height: int) -> None:
        """Set the window; narrow ones are a phone's."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def wait(self, condition: str) -> None:
        """Wait until an expression of JavaScript is true. Raises TimeoutError."""
        end = time.monotonic() + TIMEOUT_S
        while not self.value(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"not in {TIMEOUT_S:.0f} s: {condition}; {self.seen().faults}")
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript, or of its promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"].get("exception", answer["exceptionDetails"])))
        return answer["result"].get("value")

    def seen(self) -> Seen:
        """What the page has said and requested so far, and what sticks out of it now."""
        overflow = self.value(_OVERFLOW)
        self._seen.overflow, self._seen.outside = int(overflow["page"]), list(overflow["elements"])
        self._seen.clipped = list(self.value(_CLIPPED))
        for event in self._browser.events(self._session):
            self._note(event["method"], event["params"])
        return self._seen

    def picture(self, path: Path) -> Path:
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], MAX_HEIGHT), "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """The page as it is printed on A4."""
        answer = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol to this page."""
        return self._browser.call(method, self._session, **parameters)

    def _note(self, method: str, of: Mapping[str, Any]) -> None:
        match method:
            case "Runtime.consoleAPICalled":
                words = " ".join(str(one.get("value", one.get("description", ""))) for one in of["args"])
                self._seen.messages.append(f"{of['type']}: {words}")
            case "Runtime.exceptionThrown":
                details = of["exceptionDetails"]
                self._seen.messages.append(str(details.get("exception", {}).get("description", details["text"])))
            case "Log.entryAdded":
                self._seen.messages.append(f"{of['entry']['level']}: {of['entry']['text']}")
            case "Network.requestWillBeSent":
                url = str(of["request"]["url"])
                if of["type"] != "Document" and not url.startswith(("data:", "blob:")):
                    self._seen.requests.append(url)


def _tree(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    except OSError:
        return []
    return [pid, *(each for child in children for each in _tree(int(child)))]


def _cpu_ticks(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _pipe() -> tuple[int, int]:
    """A pipe for reading and writing, with descriptors above those of Chromium's pipes."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _LOW_FDS) for one in low)
    for one in low:
        os.close(one)
    return high[0], high[1]
