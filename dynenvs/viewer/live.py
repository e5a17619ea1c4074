"""A running environment in the browser: a small server on this machine's own address.

The simulation runs in the calling thread at the world's pace; what it did goes to every open page
as server-sent events, and keys come back as requests.  The server listens on the loopback address
alone, answers no page of another name, and only requests with its token, which the address holds.
Other users of the machine can read the arguments of processes: a browser is started with an address
that is good for once.
"""

from __future__ import annotations

import queue
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from dynenvs.agents.experts.common.controller import Policy
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.view import push
from dynenvs.viewer.encoding import to_json
from dynenvs.viewer.episode import Watched
from dynenvs.viewer.page import content_policy, render_page

HOST = "127.0.0.1"
BATCH = 0.03  # time between events [s]
WAITING = 1.0  # time after which a page that gets nothing is sent a sign of life [s]
BACKLOG = 100  # events that a page may be behind before it is let go
REACH = 60.0  # how far around the start terrain is sent [units]
LONGEST_KEY = 8  # of a request [bytes]
MOST = 32  # connections at a time; further ones are closed
PATIENCE = 10.0  # with a client that takes nothing, and until a whole request is there [s]
COMMANDS = {
    "w": (1, 0, 0),
    "s": (-1, 0, 0),
    "a": (0, 1, 0),
    "d": (0, -1, 0),
    "q": (0, 0, 1),
    "e": (0, 0, -1),
}
KEYS = (*COMMANDS, "p", "r")
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": content_policy(),
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
}


class Channel:
    """Events to all open pages, keys from them."""

    def __init__(self) -> None:
        self.keys: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._pages: set[queue.Queue[str]] = set()
        self._lock = threading.Lock()
        self.opened = threading.Event()  # whether any page is open

    def open(self) -> queue.Queue[str]:
        """A new page's events."""
        events: queue.Queue[str] = queue.Queue(BACKLOG)
        with self._lock:
            self._pages.add(events)
            self.opened.set()
        return events

    def has(self, events: queue.Queue[str]) -> bool:
        """Whether the page still gets news; one that was let go connects again by itself."""
        with self._lock:
            return events in self._pages

    def leave(self, events: queue.Queue[str]) -> None:
        """The page is gone."""
        with self._lock:
            self._pages.discard(events)
            if not self._pages:
                self.opened.clear()

    def tell(self, kind: str, content: dict[str, Any]) -> None:
        """Send an event to all; a page that does not keep up is let go."""
        text = f"event: {kind}\ndata: {to_json(content)}\n\n"
        with self._lock:
            pages = list(self._pages)
        for events in pages:
            try:
                events.put_nowait(text)
            except queue.Full:
                self.leave(events)


class LiveServer:
    """Serves the page of a running environment, from when it is entered until it is left.

    Args:
        page: the HTML.
        channel: of events and keys.
        token: that requests must bring.
        port: to listen on; any free one if 0.

    Raises:
        OSError: the port is taken.
    """

    def __init__(self, page: str, channel: Channel, token: str, port: int = 0) -> None:
        self._token, self._tickets = token, {secrets.token_urlsafe(16)}
        served = {"page": page, "channel": channel, "token": token, "tickets": self._tickets}
        try:
            self._server = _Server((HOST, port), type("Handler", (_Handler,), served))
        except OSError as error:
            raise OSError(f"port {port} cannot be used: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where the page is, for whoever may see and steer it."""
        return f"{self._place}?token={self._token}"

    @property
    def url_for_once(self) -> str:
        """The same, for the first caller."""
        return f"{self._place}?ticket={next(iter(self._tickets), '')}"

    @property
    def _place(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """A thread for each connection, of which there are so many at most."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self._free = threading.Semaphore(MOST)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, or not at all."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer; runs in that thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is closed in the middle of an answer is no error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request; `LiveServer` fills in what it serves."""

    timeout = PATIENCE
    page: str
    channel: Channel
    token: str
    tickets: set[str]  # each good for one answer with the token
    late: threading.Timer  # ends the connection where the request is not whole

    def handle_one_request(self) -> None:
        """Answer, if the whole request is there in time: not a byte now and then for hours."""
        self.late = threading.Timer(self.timeout, self._give_up)
        self.late.daemon = True
        self.late.start()
        try:
            super().handle_one_request()
        finally:
            self.late.cancel()

    def _give_up(self) -> None:
        with suppress(OSError):  # it has just ended
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """The page, or its events."""
        self.late.cancel()
        path, given = self._asked()
        # Who asks for another name's page gets none, whatever else it brings
        if not self._is_own_name():
            self.send_error(HTTPStatus.FORBIDDEN)
        elif path == "/" and "ticket" in given:
            self._redeem(given["ticket"][0])
        elif path not in ("/", "/events"):
            self.send_error(HTTPStatus.NOT_FOUND if path else HTTPStatus.BAD_REQUEST)
        elif not self._is_token(given.get("token", [""])[0]):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif path == "/":
            self._answer(self.page.encode())
        else:
            self._stream()

    def do_POST(self) -> None:
        """A key."""
        path, _ = self._asked()
        length = self.headers.get("Content-Length", "")
        if path != "/key":
            # Checked in the order in which it costs: path, token, length, and only then what is
            # read
            self.send_error(HTTPStatus.NOT_FOUND if path else HTTPStatus.BAD_REQUEST)
        elif not self._is_token(self.headers.get("X-Token", "")) or not self._is_own_name():
            self.send_error(HTTPStatus.FORBIDDEN)
        elif not re.fullmatch("[0-9]{1,3}", length) or int(length) > LONGEST_KEY:
            self.send_error(HTTPStatus.BAD_REQUEST)
        else:
            key = self.rfile.read(int(length)).decode("utf-8", "replace")
            self.late.cancel()
            if key in KEYS:
                self.channel.keys.put(key)
                self.send_response(HTTPStatus.NO_CONTENT)
                self.end_headers()
            else:
                self.send_error(HTTPStatus.BAD_REQUEST)

    def _asked(self) -> tuple[str, dict[str, list[str]]]:
        """The path and what is given with it; no path of nonsense."""
        try:
            parts = urlsplit(self.path)
            return parts.path, parse_qs(parts.query)
        except ValueError:
            return "", {}

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _redeem(self, ticket: str) -> None:
        """Lead to the page itself, once."""
        try:
            self.tickets.remove(ticket)
        except KeyError:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/?token={self.token}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _is_own_name(self) -> bool:
        """Whether the page was requested by this machine's own name: no foreign site's trick."""
        name = self.headers.get("Host", "").rpartition(":")[0]
        return name in (HOST, "localhost")

    def _answer(self, page: bytes) -> None:
        self._begin("text/html; charset=utf-8", len(page))
        self.wfile.write(page)

    def _begin(self, kind: str, length: int | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in {"Content-Type": kind, **HEADERS}.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _stream(self) -> None:
        events = self.channel.open()
        # What waits for this page; a word now and then, so that a closed page is noticed
        try:
            self._begin("text/event-stream")
            while self.channel.has(events):
                try:
                    text = events.get(timeout=WAITING)
                except queue.Empty:
                    text = ": nothing new\n\n"
                self.wfile.write(text.encode())
                self.wfile.flush()
        except OSError:  # the page was closed
            pass
        finally:
            self.channel.leave(events)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def serve(
    env: DynEnv,
    policy: Policy,
    *,
    seed: int,
    port: int = 0,
    plots: list[str] | None = None,
    opened: Callable[[LiveServer], None] = lambda server: None,
    going: Callable[[], bool] = lambda: True,
) -> None:
    """Run an environment, episode after episode, for whoever looks at its page.

    It stands still while no page is open.

    Args:
        env: without wrappers.
        policy: what acts.
        seed: of the first episode; the next ones count on from it.
        port: to listen on; any free one if 0.
        plots: names of the plots that are open at first; the usual ones if None.
        opened: called with the server once the page is there.
        going: called before each control step; False ends it.

    Raises:
        OSError: the port is taken.
        ValueError: there is no plot of such a name.
    """
    # The page is written for one token: another server's page is none of this one's
    session = _Session(env, policy, seed, plots)
    token = secrets.token_urlsafe(16)
    scene = {**session.recording.scene(), "live": {"token": token}, "prints": []}
    with LiveServer(render_page(scene), session.channel, token, port) as server:
        opened(server)
        while going():
            if session.channel.opened.wait(timeout=0.1):
                session.step()


class _Session:
    """An environment at the world's pace.

    Args:
        env: without wrappers.
        policy: what acts.
        seed: of the first episode.
        plots: names of the plots that are open at first.
    """

    def __init__(
        self, env: DynEnv, policy: Policy, seed: int, plots: list[str] | None = None
    ) -> None:
        self.env, self.policy, self.seed = env, policy, seed
        self.channel = Channel()
        env.reset(seed=seed)
        push(env, impulse=0.0)  # so that a key need not wait until it is compiled
        self._observation, _ = env.reset(seed=seed)
        self._watched = Watched(env)
        self.recording = self._watched.recording(f"{env.title}, live", plots, REACH)
        self._watched.keep(self.recording)
        self._due = self._sent = time.perf_counter()

    def step(self) -> None:
        """A control step, when its time has come."""
        # Keys first, as they came
        while not self.channel.keys.empty():
            self._press(self.channel.keys.get())
        action, _ = self.policy.predict(self._observation)
        self._observation, _, terminated, truncated, _ = self.env.step(action)
        self._watched.keep(self.recording)
        # At the world's pace; what is late is not caught up with
        now = time.perf_counter()
        self._due = max(self._due + self.env.dt, now - BATCH)  # what is late is not made up for
        if now - self._sent >= BATCH:
            self._send()
        if terminated or truncated:
            self._send()
            self._begin()
        time.sleep(max(0.0, self._due - time.perf_counter()))

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self.channel.tell("moments", self.recording.take())

    def _begin(self) -> None:
        """The next episode."""
        self.seed += 1
        self._observation, _ = self.env.reset(seed=self.seed)
        self.recording.restart()
        self._watched.keep(self.recording)
        self.channel.tell("begin", {})

    def _press(self, key: str) -> None:
        change = getattr(self.env, "change_command", None)
        if key == "p":
            push(self.env)
        elif key == "r":
            self._begin()
        elif change is not None:
            change(*COMMANDS[key])
