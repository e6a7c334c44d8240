"""The server of the lab page: only its files, only on loopback, only under its name."""

import gzip
import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackclock.errors import InputError, RunFailed
from ackclock.lab.server import LabServer, page_files


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "engine.wasm").write_bytes(b"\0asm" * 1000)
    (folder / "main.js").write_text("export {};")
    (folder / "notes.bak").write_text("not served")
    (folder.parent / "secret.txt").write_text("secret")
    with LabServer(page_files(folder)) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()


def _get(server: LabServer, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.putrequest("GET", path, skip_host="Host" in headers, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    return connection.getresponse()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/engine.wasm", "application/wasm"),
        ("/main.js", "text/javascript; charset=utf-8"),
    ],
)
def test_file_has_its_type(server: LabServer, path: str, kind: str) -> None:
    answer = _get(server, path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "//etc/passwd",
        "/notes.bak",
        "/.",
        "/static/",
        "/a\\..\\b",
    ],
)
def test_path_outside_of_the_page_is_not_found(server: LabServer, path: str) -> None:
    assert _get(server, path).status == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_request_for_another_host_is_refused(server: LabServer, host: str) -> None:
    answer = _get(server, "/", Host=host)
    assert answer.status == 421
    assert b"doctype" not in answer.read()


def test_request_for_localhost_is_answered(server: LabServer) -> None:
    assert _get(server, "/", Host=f"localhost:{server.server_address[1]}").status == 200


def test_large_file_is_compressed_for_a_client_that_accepts_it(server: LabServer) -> None:
    answer = _get(server, "/engine.wasm", Accept_Encoding="gzip")
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.read()) == b"\0asm" * 1000


def test_server_listens_on_loopback_only(server: LabServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_port_in_use_is_an_error_with_the_address(server: LabServer) -> None:
    with pytest.raises(InputError, match=r"listening at 127\.0\.0\.1:\d+: Address already in use; choose another port"):
        LabServer(server.files, server.server_address[1])


def test_page_that_was_not_built_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="no lab page; run `make lab`"):
        page_files(tmp_path)
