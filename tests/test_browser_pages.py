"""Pages for the browser: what they hold is what the simulator computed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs
from dynenvs import ModelBuilder, World
from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.evaluation.evaluate import reference_controller
from dynenvs.model.parts import free
from dynenvs.viewer.encoding import decode, encode, quaternions, to_json, unpack
from dynenvs.viewer.footsteps import Footsteps
from dynenvs.viewer.moment import Moment
from dynenvs.viewer.page import MODULES, Page, render_page


class Reader(HTMLParser):
    """Collects scripts by what they are, and every address in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.addresses += [str(found[name]) for name in ("src", "href") if name in found]
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((found, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


def read(page: str) -> tuple[Reader, dict[str, Any]]:
    """The page's parts, and the document in it."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    (packed,) = (text for attributes, text in reader.scripts if attributes.get("id") == "document")
    return reader, json.loads(unpack(packed))


def falling_ball() -> World:
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("ball", joint=free(), mass=2.0, inertia=(0.01,) * 3)
    builder.sphere("skin", "ball", radius=0.1, friction=0.6)
    world = World(builder.build(), timestep=0.01)
    world.q = (0.0, 0.0, 0.15, 1.0, 0.0, 0.0, 0.0)
    world.v = (0.5, 0.0, 0.0, 0.0, 0.0, 3.0)
    return world


@pytest.fixture(scope="module")
def recorded() -> tuple[list[Any], Page]:
    """The states of a ball that falls on the floor, and their page."""
    world = falling_ball()
    recorder = dynenvs.Recorder(world, follow="ball", title="A <ball> & more")
    states = []
    for _ in range(30):
        world.step()
        recorder.record(height=world.q[2], pair=world.q[:2])
        R, p, *_ = dynenvs.frames(world.model, world.q)
        states.append((world.time, (R[1], p[1]), world.contacts))
    return states, recorder.view()


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(
    recorded: tuple[list[Any], Page],
) -> None:
    page = recorded[1].html
    reader, document = read(page)
    assert not reader.open  # every element ends
    assert reader.addresses == ["data:,"]
    assert "{{" not in page
    assert "A &lt;ball&gt; &amp; more" in page
    assert document["title"] == "A <ball> & more"
    modules = {a["data-name"]: unpack(t) for a, t in reader.scripts if a.get("class") == "module"}
    assert list(modules) == list(MODULES)
    texts = [page, json.dumps(document), *modules.values()]
    found = {address for text in texts for address in re.findall(r"(?:https?:)?//[\w.]+\w", text)}
    addresses = {address for address in found if "." in address}
    assert addresses <= {"http://www.w3.org"}  # the name of a kind of element, which is no address
    for name, text in modules.items():  # each imports only modules before it
        before = list(modules)[: list(modules).index(name)]
        assert set(re.findall(r'\bfrom\s+"(\w+)"', text)) <= set(before)


def test_poses_are_the_world_s_in_every_bit_of_single_precision(
    recorded: tuple[list[Any], Page],
) -> None:
    states, page = recorded
    frames = read(page.html)[1]["frames"]
    times = decode(frames["time"])
    positions, turns = decode(frames["position"]), decode(frames["quaternion"])
    assert positions.shape == (30, 2, 3)
    for i, (time, (R, p), _) in enumerate(states):
        assert times[i] == time
        assert positions[i, 1].tobytes() == np.asarray(p, "<f4").tobytes()
        assert turns[i, 1].tobytes() == quaternions(R).astype("<f4").tobytes()


def test_contacts_are_the_world_s(recorded: tuple[list[Any], Page]) -> None:
    states, page = recorded
    contacts = read(page.html)[1]["frames"]["contacts"]
    counts, forces = decode(contacts["count"]), decode(contacts["forces"])
    loaded = [[c for c in listed if np.any(c.impulse)] for _, _, listed in states]
    assert counts.tolist() == [len(listed) for listed in loaded]
    assert counts.sum() > 5
    expected = [c.impulse / 0.01 for listed in loaded for c in listed]
    assert forces.tobytes() == np.array(expected, "<f4").tobytes()
    points = [c.position for listed in loaded for c in listed]
    assert decode(contacts["points"]).tobytes() == np.array(points, "<f4").tobytes()
    # The floor's coefficient is 0.8, and a pair has the geometric mean of both
    assert set(decode(contacts["friction"]).tolist()) == {np.float32(np.sqrt(0.6 * 0.8))}


def test_readings_stand_under_their_names(recorded: tuple[list[Any], Page]) -> None:
    states, page = recorded
    document = read(page.html)[1]
    names = {plot["name"]: plot["lines"] for plot in document["plots"]}
    assert names == {
        "height": ["height"],
        "pair": ["pair 0", "pair 1"],
        "contact force": ["normal"],
    }
    heights = decode(document["frames"]["readings"][0])[:, 0]
    assert heights.tolist() == [np.float32(p[2]) for _, (_, p), _ in states]


def test_the_centre_of_mass_of_one_body_is_its_own(recorded: tuple[list[Any], Page]) -> None:
    frames = read(recorded[1].html)[1]["frames"]
    assert decode(frames["center"]).tobytes() == decode(frames["position"])[:, 1].tobytes()


def test_a_quaternion_turns_as_its_matrix_does() -> None:
    """Oracle: Rodrigues' formula."""
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    R = np.eye(3) + np.sin(0.7) * K + (1 - np.cos(0.7)) * K @ K
    expected = [*(np.sin(0.35) * axis), np.cos(0.35)]
    np.testing.assert_allclose(quaternions(R), expected, atol=1e-15)


@pytest.mark.parametrize("kind", ["f4", "f8", "i4"])
def test_arrays_come_back(kind: str) -> None:
    array = np.arange(12).reshape(3, 4) - 5
    coded = json.loads(to_json(encode(array, kind)))
    assert decode(coded).tolist() == array.tolist()
    assert decode(encode(np.zeros((0, 3)), kind)).shape == (0, 3)


def test_json_knows_no_nan() -> None:
    assert to_json({"a": [np.float64("nan"), np.int64(3)], "b": float("inf")}) == (
        '{"a":[null,3],"b":null}'
    )


def test_footsteps_are_where_the_feet_stood() -> None:
    """By hand: a foot stands from 0.1 to 0.3 s about (2, 1), turned by 90 degrees; then it is
    away for longer than a break."""
    R = np.array([np.eye(3), [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    footsteps, prints = Footsteps([1]), []
    corners = np.array([[1.9, 0.8, 0.0], [2.1, 0.8, 0.0], [1.9, 1.2, 0.0], [2.1, 1.2, 0.0]])
    for k in range(12):
        points = corners if 2 <= k <= 6 and k != 4 else corners[:0]  # a gap that is no step
        n = len(points)
        up = np.tile([0.0, 0.0, 1.0], (n, 1))
        bodies = np.tile([1, 0], (n, 1))
        friction = np.ones(n)
        place = np.zeros((2, 3))
        moment = Moment(0.05 * k, R, place, points, up, up, friction, bodies, np.zeros(3))
        prints += footsteps.add(moment)
    (one,) = prints
    assert one.foot == 0
    assert one.start == pytest.approx(0.1)
    np.testing.assert_allclose(one.point, [2.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(one.half, [0.2, 0.1], atol=1e-12)
    assert one.heading == pytest.approx(np.pi / 2)
    assert footsteps.rest() == []


def test_a_notebook_shows_the_whole_page_in_a_frame(recorded: tuple[list[Any], Page]) -> None:
    page = recorded[1]
    reader = Frame()
    reader.feed(page._repr_html_())
    assert reader.source == page.html


class Frame(HTMLParser):
    """Finds what a frame shows."""

    source: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "iframe"
        self.source = dict(attrs)["srcdoc"]


def test_a_page_is_saved_whole(recorded: tuple[list[Any], Page], tmp_path: Path) -> None:
    page = recorded[1]
    file = page.save(tmp_path / "new" / "film.html")
    assert file.read_text(encoding="utf-8") == page.html
    assert [one.name for one in file.parent.iterdir()] == ["film.html"]
    with pytest.raises(ValueError, match=r"'film\.gif' must end in \.html"):
        page.save("film.gif")


def test_a_title_is_a_title() -> None:
    """Braces of the page's own slots, HTML and all."""
    title = "{{modules}}</title><script>alert(1)</script>"
    page = render_page({"title": title})
    kept = "{{modules}}&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    assert page.count(kept) == 2  # the tab's and the heading
    assert page.count('class="module"') == len(MODULES)


def test_what_cannot_be_recorded_is_refused() -> None:
    world = falling_ball()
    with pytest.raises(ValueError, match=r"unknown body 'bell'; choose from: world, ball"):
        dynenvs.Recorder(world, follow="bell")
    with pytest.raises(TypeError, match=r"world must be a dynenvs\.World, got int"):
        dynenvs.Recorder(3)  # type: ignore[arg-type]
    recorder = dynenvs.Recorder(world)
    with pytest.raises(ValueError, match="recording is empty"):
        recorder.view()
    recorder.record(a=1.0)
    with pytest.raises(ValueError, match=r"time 0 s is recorded already"):
        recorder.record(a=1.0)
    world.step()
    with pytest.raises(ValueError, match=r"readings were .* now they are"):
        recorder.record(b=1.0)
    with pytest.raises(ValueError, match=r"plot.*'c'"):
        recorder.view(plots=["c"])
    assert len(recorder) == 1


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(TypeError, match="what must be the name of an environment or dataset"):
        dynenvs.view(3)
    with pytest.raises(ValueError, match="unknown environment 'humanoidd'"):
        dynenvs.view("humanoidd")
    with pytest.raises(ValueError, match="steps must be a whole number"):
        dynenvs.view("humanoid", steps=0)
    with pytest.raises(ValueError, match="options need an environment's name: command"):
        dynenvs.view(falling_ball(), command=1.0)
    with pytest.raises(ValueError, match="has no option 'speed'"):
        dynenvs.view("double-pendulum", speed=1.0)
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        dynenvs.view("double-pendulum", agent="nobody")


def test_a_world_is_shown_as_it_is_now() -> None:
    document = read(dynenvs.view(falling_ball(), title="now").html)[1]
    assert document["title"] == "now"
    assert decode(document["frames"]["position"])[:, 1].tolist() == [[0.0, 0.0, np.float32(0.15)]]


def test_an_episode_is_what_the_environment_does_in_every_bit() -> None:
    """Oracle: the same seed and agent, stepped by hand."""
    document = read(dynenvs.view("double-pendulum", seed=3, steps=40, plots=["torques"]).html)[1]
    env = make("dynenvs/DoublePendulum-v0", max_episode_steps=40)
    policy = reference_controller(env)
    observation, _ = env.reset(seed=3)
    rewards, torques = [], []
    for _ in range(40):
        action, _ = policy.predict(observation)
        observation, reward, *_, info = env.step(action)
        rewards.append(np.float32(reward))
        torques.append(info["torques"].astype("<f4"))
    frames, plots = document["frames"], [plot["name"] for plot in document["plots"]]
    assert document["chosen"] == ["torques"]
    assert decode(frames["readings"][plots.index("reward")])[1:, 0].tolist() == rewards
    found = decode(frames["readings"][plots.index("torques")])[1:]
    assert found.tobytes() == np.array(torques).tobytes()
    _, places, *_ = dynenvs.frames(env.model, env.worlds.states["q"][0])
    assert decode(frames["position"])[-1].tobytes() == places.astype("<f4").tobytes()
    with pytest.raises(ValueError, match=r"plot.*'speed'"):
        dynenvs.view("double-pendulum", steps=2, plots=["speed"])


def test_an_environment_is_run_as_it_was_made() -> None:
    env = gym.make("dynenvs/DoublePendulum-v0", max_episode_steps=12)
    for steps, expected in ((None, 13), (5, 6)):
        document = read(dynenvs.view(env, steps=steps).html)[1]
        assert len(decode(document["frames"]["time"])) == expected
    by_name = read(dynenvs.view("double-pendulum", steps=5).html)[1]
    assert by_name["frames"]["position"] == document["frames"]["position"]


def test_every_shape_has_its_part() -> None:
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.half_space("wall", normal=(1, 0, 0), position=(-2, 0, 0))
    builder.block_field("blocks", heights=np.zeros((4, 6)), half_size=(2, 3), position=(0, 0, -1))
    builder.body("b", joint=free(), mass=1.0, inertia=(0.1,) * 3)
    builder.sphere("s", "b", radius=0.1)
    builder.capsule("c", "b", start=(0, 0, 0), end=(0, 0, 1), radius=0.1)
    builder.box("x", "b", half_size=(0.1, 0.2, 0.3))
    tetrahedron = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    builder.convex("h", "b", points=tetrahedron)
    parts = read(dynenvs.view(World(builder.build())).html)[1]["parts"]
    types = [part["type"] for part in parts]
    assert types == [
        "half_space",
        "half_space",
        "block_field",
        "sphere",
        "capsule",
        "box",
        "convex",
    ]
    assert [part["level"] for part in parts[:2]] == [True, False]
    assert parts[2]["spacing"] == [1.0, 1.0]
    hull = parts[-1]
    corners, faces = decode(hull["corners"]), decode(hull["faces"])
    a, b, c = (corners[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0  # by the divergence theorem
    assert volume == pytest.approx(1.0 / 6.0)


@pytest.mark.thorough
def test_the_page_about_the_viewer_has_code_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[1] / "docs" / "viewer.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, "docs/viewer.md", "exec"), {})
    assert {file.name for file in tmp_path.iterdir()} == {"double-pendulum.html", "box.html"}


def test_slopes_are_ground_and_walls_are_not() -> None:
    builder = ModelBuilder()
    for name, normal in (("level", (0, 0, 1)), ("slope", (1, 0, 3)), ("wall", (1, 0, 0))):
        builder.half_space(name, normal=normal)
    builder.body("b", joint=free(), mass=1.0, inertia=(0.1,) * 3)
    builder.sphere("s", "b", radius=0.1)
    parts = read(dynenvs.view(World(builder.build())).html)[1]["parts"][:3]
    assert [(part["level"], part["slope"]) for part in parts] == [
        (True, False),
        (False, True),
        (False, False),
    ]
