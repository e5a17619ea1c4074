"""A running environment in the browser: what its server answers, and whom."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.evaluation.evaluate import reference_controller
from dynenvs.envs.core.base import DynEnv
from dynenvs.viewer.encoding import decode, unpack
from dynenvs.viewer.live import LiveServer, serve

pytestmark = pytest.mark.thorough  # a push compiles what no quick test needs


class Served:
    """A live page of the planar humanoid."""

    def __init__(self, env: DynEnv, server: LiveServer) -> None:
        self.env, self.server = env, server
        parts = urlsplit(server.url)
        assert parts.port is not None
        self.port, self.address = parts.port, f"{parts.path}?{parts.query}"
        page = self.get(self.address).read().decode()
        packed = re.search(r'id="document">([^<]*)<', page)
        assert packed is not None
        self.document: dict[str, Any] = json.loads(unpack(packed.group(1)))
        self.token = self.document["live"]["token"]

    def get(self, path: str, host: str = "127.0.0.1") -> HTTPResponse:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=1800)
        connection.request("GET", path, headers={"Host": f"{host}:{self.port}"})
        return connection.getresponse()

    def press(self, key: str, token: str | None = None) -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=1800)
        headers = {"X-Token": self.token if token is None else token}
        connection.request("POST", "/key", body=key.encode(), headers=headers)
        return connection.getresponse().status


def events(response: HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kinds and contents."""
    kind = ""
    for line in response:
        if line.startswith(b"event: "):
            kind = line[7:].strip().decode()
        elif line.startswith(b"data: "):
            yield kind, json.loads(line[6:])


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    env = make("dynenvs/PlanarHumanoid-v0", command=0.6, max_episode_steps=4000)
    ready, stop = threading.Event(), threading.Event()
    found: list[LiveServer] = []

    def opened(server: LiveServer) -> None:
        found.append(server)
        ready.set()

    def run() -> None:
        policy = reference_controller(env)
        serve(env, policy, seed=0, opened=opened, going=lambda: not stop.is_set())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(1800)
    yield Served(env, found[0])
    stop.set()
    thread.join(1800)
    assert not thread.is_alive()


def test_moments_come_in_order_and_keys_change_the_command(served: Served) -> None:
    stream = events(served.get(f"/events?token={served.token}"))
    names = [plot["name"] for plot in served.document["plots"]]
    speed = names.index("speed")
    times: list[float] = []
    commands: list[float] = []
    heights: list[float] = []
    pressed = False
    while len(times) < 150 and max(commands, default=0.0) < 0.62:
        kind, content = next(stream)
        assert kind == "moments"
        frames = content["frames"]
        times += decode(frames["time"]).tolist()
        commands += decode(frames["readings"][speed])[:, 1].tolist()
        heights += decode(frames["position"])[:, 1:, 2].max(axis=1).tolist()
        if len(times) < 20:
            assert commands[-1] == np.float32(0.6)
        elif not pressed:  # several moments may come at once
            pressed = served.press("w") == 204
            assert pressed
    assert np.all(np.diff(times) > 0.0)
    np.testing.assert_allclose(np.diff(times), served.env.dt, rtol=1e-9)
    assert max(commands) >= np.float32(0.65)  # a key is 0.05 m/s
    assert min(heights) > 0.5  # it walks


def test_a_push_moves_the_robot_and_r_begins_again(served: Served) -> None:
    stream = events(served.get(f"/events?token={served.token}"))
    next(stream)
    assert served.press("p") == 204
    assert served.press("r") == 204
    kinds = []
    while "begin" not in kinds:
        kind, content = next(stream)
        kinds.append(kind)
    kind, content = next(stream)
    assert kind == "moments"
    assert decode(content["frames"]["time"])[0] == 0.0


def test_only_its_own_page_is_answered(served: Served) -> None:
    assert served.get(served.address, host="localhost").status == 200
    assert served.get(served.address, host="evil.example").status == 403
    assert served.get("/").status == 403
    assert served.get("/events?token=wrong").status == 403
    assert served.get("/other").status == 404
    assert served.press("w", token="wrong") == 403
    assert served.press("w", token="") == 403
    assert served.press("x") == 400
    assert served.press("w" * 9) == 400


def test_nobody_else_on_the_network_can_reach_it(served: Served) -> None:
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        pytest.skip("this machine has no address but the loopback's")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((own, served.port), timeout=60)


def test_a_port_that_is_taken_is_told() -> None:
    env = make("dynenvs/PlanarHumanoid-v0")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} cannot be used"):
            serve(env, reference_controller(env), seed=0, port=port)
