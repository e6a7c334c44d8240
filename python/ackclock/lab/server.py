"""Serves the lab page on loopback.

Only the files of the page are served, from a table of names: a path cannot leave it. A request with
another host's name is refused, so that a web page elsewhere cannot reach the lab by rebinding its
name to loopback.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ackclock.errors import InputError, RunFailed
from ackclock.json_text import json_value

HOST = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
CATALOGUE = "catalogue.json"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".txt": "text/plain; charset=utf-8",
}
_MIN_COMPRESSED = 1024


@dataclass(frozen=True)
class PageFile:
    """A file of the page: its type and content."""

    type: str
    content: bytes

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, 6, mtime=0)


def page_files(folder: Path | None = None, replaced: Mapping[str, bytes] | None = None) -> dict[str, PageFile]:
    """The files of the page by the path of their URL.

    Args:
        folder: where `make lab` has put them; default: those of the package.
        replaced: other contents by path, such as ``{"catalogue.json": b"{}"}``.

    Raises:
        RunFailed: the page has not been built.
    """
    root = folder or STATIC
    files = {}
    for path in sorted(root.rglob("*")) if root.is_dir() else ():
        kind = TYPES.get(path.suffix)
        if path.is_file() and kind:
            files[path.relative_to(root).as_posix()] = PageFile(kind, path.read_bytes())
    if "index.html" not in files:
        raise RunFailed.problem(
            "this installation has no lab page", "run `make lab` in the sources, or install a wheel that has it"
        )
    for name, content in (replaced or {}).items():
        files[name] = PageFile(TYPES[Path(name).suffix], content)
    return files


class LabServer(ThreadingHTTPServer):
    """The HTTP server of the page; `port` 0 selects a free one.

    Raises:
        InputError: the port is in use or not allowed.
    """

    daemon_threads = True

    def __init__(self, files: Mapping[str, PageFile], port: int = 0) -> None:
        self.files = files
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise InputError.problem(
                f"listening at {HOST}:{port}: {error.strerror}",
                "choose another port, or 0 for a free one",
                option="--port",
            ) from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that closes a connection early is no error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of a Host header that are answered."""
        port = self.server_address[1]
        return (f"{HOST}:{port}", f"localhost:{port}")


class _Handler(BaseHTTPRequestHandler):
    server: LabServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def _answer(self, *, has_body: bool) -> None:
        if self.headers.get("Host", "") not in self.server.hosts:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, has_body=has_body)
            return
        name = unquote(urlsplit(self.path).path).removeprefix("/") or "index.html"
        file = self.server.files.get(name)
        if file is None:
            self._refuse(HTTPStatus.NOT_FOUND, has_body=has_body)
            return
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        is_compressed = accepts and len(file.content) >= _MIN_COMPRESSED
        content = file.compressed if is_compressed else file.content
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", file.type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        if is_compressed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if has_body:
            self.wfile.write(content)

    def _refuse(self, status: HTTPStatus, *, has_body: bool) -> None:
        content = f"{status.value} {status.phrase}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", TYPES[".txt"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if has_body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """No log: the terminal has the address only."""

    def version_string(self) -> str:
        return "ackclock"


def catalogue_with(link_files: Iterable[Path], files: Mapping[str, PageFile]) -> bytes:
    """The page's catalogue with link files of the user in front.

    Raises:
        InputError: a link file is missing or invalid.
    """
    from ackclock.lab.catalogue import json_text, link_entry

    document = json_value(files[CATALOGUE].content)
    entries = [link_entry(path.stem, path) for path in link_files]
    names = {entry["name"] for entry in entries}
    document["links"] = entries + [link for link in document["links"] if link["name"] not in names]
    document["first"] = entries[0]["name"] if entries else document.get("first")
    return json_text(document).encode()
