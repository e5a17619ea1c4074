"""The live page's server by itself: who is answered, and what nonsense does to it."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest

from dynenvs.viewer import live
from dynenvs.viewer.live import Channel, LiveServer
from dynenvs.viewer.page import content_policy, render_page


@pytest.fixture
def server() -> Iterator[LiveServer]:
    """With its own patience: what it answers does not depend on how busy the machine is."""
    with LiveServer("a page", Channel(), "a-token") as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    """It holds few connections, and none for long."""
    monkeypatch.setattr(live, "MOST", 3)
    monkeypatch.setattr(live._Handler, "timeout", 0.2)
    with LiveServer("a page", Channel(), "a-token") as made:
        yield made


def port(server: LiveServer) -> int:
    found = urlsplit(server.url).port
    assert found is not None
    return found


def get(server: LiveServer, address: str) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", port(server), timeout=60)
    connection.request("GET", address)
    return connection.getresponse()


def raw(server: LiveServer, request: bytes) -> bytes:
    """The first line of the answer to what no client of Python's would send."""
    with socket.create_connection(("127.0.0.1", port(server)), timeout=60) as connection:
        connection.sendall(request)
        return connection.makefile("rb").readline()


def path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def test_the_page_needs_its_token(server: LiveServer) -> None:
    """Any user of the machine can ask the loopback address."""
    for address in ("/", "/?token=", "/?token=wrong", "/events", "/?ticket=wrong"):
        answer = get(server, address)
        assert answer.status == 403
        assert b"a page" not in answer.read()
    assert get(server, path(server.url)).read() == b"a page"


def test_a_ticket_is_good_for_once(server: LiveServer) -> None:
    """A browser is started with it, and all users can read with what a process was started."""
    once = path(server.url_for_once)
    assert "a-token" not in once
    first = get(server, once)
    assert first.status == 303
    assert first.headers["Location"] == path(server.url)
    assert get(server, once).status == 403
    assert get(server, path(server.url_for_once)).status == 403


def test_nonsense_is_refused_without_a_word(
    server: LiveServer, capfd: pytest.CaptureFixture[str]
) -> None:
    host = f"Host: 127.0.0.1:{port(server)}\r\n".encode()
    token = b"X-Token: a-token\r\n"
    for method in (b"GET", b"POST"):
        assert b" 400 " in raw(server, method + b" http://[::1 HTTP/1.1\r\n" + host + b"\r\n")
    for length in (b"9" * 5000, b"-1", b"\xb2", b"", b"1e0"):
        size = b"Content-Length: " + length + b"\r\n\r\n"
        answer = raw(server, b"POST /key HTTP/1.1\r\n" + host + token + size)
        assert b" 400 " in answer
    assert capfd.readouterr().err == ""


def test_connections_that_say_nothing_end(impatient: LiveServer) -> None:
    """No more than so many are held, and none for ever; others are answered again afterwards."""
    before = threading.active_count()
    held = [socket.create_connection(("127.0.0.1", port(impatient)), timeout=60) for _ in range(40)]
    for connection in held:
        assert connection.recv(1) == b""  # closed at once, or after the time-out
        assert threading.active_count() <= before + 2 * live.MOST  # with a timer each
        connection.close()
    while threading.active_count() > before:  # their threads end a moment later
        pass
    assert get(impatient, path(impatient.url)).status == 200


@pytest.mark.parametrize("path", ["GET / HTTP/1.1\r\n", "POST /key HTTP/1.1\r\n"])
def test_a_byte_now_and_then_holds_no_connection(impatient: LiveServer, path: str) -> None:
    """Each byte came in time, and a line may have 65,536 of them: each thread waited for days."""
    request = path + "Host: 127.0.0.1\r\nX-Token: a-token\r\nContent-Length: 8\r\nX: "
    with socket.create_connection(("127.0.0.1", port(impatient)), timeout=60) as connection:
        connection.settimeout(0.05)
        connection.sendall(request.encode())
        for _ in range(200):  # ten seconds, of which a fiftieth is allowed
            try:
                connection.sendall(b"x")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break
        else:
            pytest.fail("the connection was held")
    assert (
        get(impatient, urlsplit(impatient.url)._replace(scheme="", netloc="").geturl()).status
        == 200
    )


def test_the_page_may_run_its_own_script_alone(server: LiveServer) -> None:
    """The policy names the one script that the page has, by its digest."""
    answer = get(server, path(server.url))
    assert answer.headers["Content-Security-Policy"] == content_policy()
    assert "default-src 'none'" in content_policy()
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    page = render_page({"title": "<script>alert(1)</script>"})
    (boot,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = re.findall(r"'sha256-([^']*)'", content_policy())
    assert digests == [_digest(boot)]


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
