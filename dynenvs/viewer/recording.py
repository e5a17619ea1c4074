"""What has happened, moment by moment, and a recorder for one's own loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.render.framing import Shot, Sights, shot_of, sights, view_of
from dynenvs.envs.render.orbit import FIELD
from dynenvs.envs.render.scene import Frame, Scene, unit_of
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.simulation.world import World
from dynenvs.viewer.encoding import encode, quaternions
from dynenvs.viewer.footsteps import Footsteps, Print
from dynenvs.viewer.moment import Moment, Watcher, feet, normal_force
from dynenvs.viewer.readings import Plot, chosen_plots
from dynenvs.viewer.shapes import floor_height, parts_of

if TYPE_CHECKING:
    from dynenvs.viewer.page import Page

ASPECT = 16 / 9  # of the picture that the camera is placed for
# Azimuth and elevation of the camera, of models in a plane and of others [rad]
FROM_THE_SIDE, AROUND = (-0.5 * math.pi - 0.25, 0.13), (-1.0, 0.2)
FIELD_REACH = 12.0  # how far around the robot's way terrain is kept [units]
LOOKS = 12  # moments that the camera is placed for
CALM = 0.35  # time over which the camera's way is smoothed [s]
CROWD = 40  # contacts on the average; where there are more, arrows are not shown at first
ARROW = 0.45  # length of an arrow as long as what carries the weight, over the view's height


class Recording:
    """Moments of a model, with readings.

    Args:
        model: what moves.
        plots: what the readings are.
        title: of the page.
        shot: where the camera stands at first.
        follows: whether the camera goes with `focus` at first.
        chosen: names of the plots that are open at first; the usual ones if None.
        reach: how far around the robot's way terrain is kept [units].

    Raises:
        ValueError: there is no plot of such a name.
    """

    def __init__(
        self,
        model: Model,
        plots: Sequence[Plot],
        *,
        title: str,
        shot: Shot,
        follows: bool,
        chosen: Sequence[str] | None = None,
        reach: float = FIELD_REACH,
    ) -> None:
        self.model, self.plots, self.title = model, list(plots), title
        self.shot, self.follows, self.reach = shot, follows, reach
        self.chosen = chosen_plots(plots, chosen)
        self.moments: list[Moment] = []
        self.prints: list[Print] = []
        self._focus: list[Floats] = []
        self._targets: list[Floats] = []
        self._readings: list[list[list[float]]] = []
        self._footsteps = Footsteps(feet(model))

    def __len__(self) -> int:
        return len(self.moments)

    def add(
        self,
        moment: Moment,
        readings: list[list[float]],
        focus: Floats,
        targets: Floats | None = None,
    ) -> None:
        """Keep a moment.

        Args:
            moment: what happened.
            readings: numbers of each plot's lines.
            focus: what the camera follows, world axes [m], shape (3,).
            targets: places to be reached [m], shape (k, 3).
        """
        self.moments.append(moment)
        self._readings.append(readings)
        self._focus.append(np.array(focus, float))
        self._targets.append(np.zeros((0, 3)) if targets is None else np.array(targets, float))
        self.prints += self._footsteps.add(moment)

    def scene(self) -> dict[str, Any]:
        """What does not change: shapes, plots, where the camera stands."""
        focus = np.array(self._focus or [np.zeros(3)])
        unit = unit_of(self.shot.view_height)
        reach = self.reach * unit
        box = focus[:, :2].min(axis=0) - reach, focus[:, :2].max(axis=0) + reach
        loads = [np.linalg.norm(moment.forces, axis=1) for moment in self.moments]
        usual = float(np.quantile(np.concatenate(loads), 0.95)) if any(map(len, loads)) else 0.0
        weight = max(Scene(self.model).weight, usual)  # whose arrow has a length of ARROW
        return {
            "title": self.title,
            "unit": unit,
            "floor": floor_height(self.model),
            "parts": parts_of(self.model, unit, box),
            "bodies": list(self.model.body_names),
            "plots": [plot._asdict() for plot in self.plots],
            "chosen": self.chosen,
            "newton": ARROW * self.shot.view_height / weight,  # length of an arrow [m/N]
            "crowded": bool(loads) and float(np.mean([len(load) for load in loads])) > CROWD,
            "camera": {
                "target": self.shot.target.tolist(),
                "distance": 0.5 * self.shot.view_height / math.tan(0.5 * FIELD),
                "field": math.degrees(FIELD),
                "azimuth": self.shot.azimuth,
                "elevation": self.shot.elevation,
                "follows": self.follows,
                "focus": focus[0].tolist(),
            },
            "feet": len(feet(self.model)),
        }

    def frames(self) -> dict[str, Any]:
        """What changes, as arrays."""
        moments = self.moments
        counts = [len(moment.points) for moment in moments]
        numbers = [
            np.array([row[k] for row in self._readings]).reshape(len(moments), len(plot.lines))
            for k, plot in enumerate(self.plots)
        ]
        return {
            "time": encode([moment.time for moment in moments], "f8"),
            "position": encode(_stacked(moments, "positions", (self.model.header.nb, 3))),
            "quaternion": encode(quaternions(np.array([m.rotations for m in moments]))),
            "center": encode(_stacked(moments, "center", (3,))),
            "focus": encode(np.array(self._focus)),
            "targets": encode(np.array(self._targets)),
            "contacts": {
                "count": encode(counts, "i4"),
                **{
                    name: encode(np.concatenate([getattr(m, name) for m in moments]))
                    for name in ("points", "normals", "forces", "friction")
                },
            },
            "readings": [encode(array) for array in numbers],
        }

    def restart(self) -> None:
        """Forget all: another episode begins."""
        self._clear()
        self._footsteps.rest()

    def take(self) -> dict[str, Any]:
        """Frames and footprints since the last call, which are kept no longer."""
        taken = {"frames": self.frames(), "prints": prints_of(self.prints)}
        self._clear()
        return taken

    def _clear(self) -> None:
        for kept in (self.moments, self.prints, self._focus, self._targets, self._readings):
            kept.clear()

    def document(self) -> dict[str, Any]:
        """All that a page needs.

        Raises:
            ValueError: nothing was recorded.
        """
        if not self.moments:
            raise ValueError("the recording is empty: record at least one moment before showing it")
        self._focus = list(self._calm(np.array(self._focus)))
        prints = [*self.prints, *self._footsteps.rest()]
        return {**self.scene(), "frames": self.frames(), "prints": prints_of(prints)}

    def _calm(self, focus: Floats) -> Floats:
        """The camera's way without the robot's sway."""
        from scipy.ndimage import gaussian_filter1d

        if len(focus) < 3:
            return focus
        step = (self.moments[-1].time - self.moments[0].time) / (len(focus) - 1)
        width = CALM / max(step, 1e-3 * CALM)
        return np.asarray(gaussian_filter1d(focus, width, axis=0, mode="nearest"))


def _stacked(moments: list[Moment], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    return np.array([getattr(moment, name) for moment in moments]).reshape(-1, *shape)


def prints_of(prints: Sequence[Print]) -> list[dict[str, Any]]:
    """Footprints as the page wants them."""
    return [
        {**one._asdict(), "point": one.point.tolist(), "normal": one.normal.tolist()}
        for one in prints
    ]


def shot_for(model: Model, moments: Sequence[Moment]) -> Shot:
    """A camera that sees all that moves, from the side if it moves in a plane."""
    scene = Scene(model, unit=0.0)
    spread = np.linspace(0, len(moments) - 1, min(LOOKS, len(moments))).astype(int)
    seen = [sights(model, scene, _frame(moments[i])) for i in spread]
    points, radii = (np.concatenate(arrays) for arrays in zip(*seen, strict=True))
    way = FROM_THE_SIDE if view_of(model) == "side" else AROUND
    return shot_of(Sights(points, radii), ASPECT, way, FIELD)


def _frame(moment: Moment) -> Frame:
    """A moment without its contacts, for the painter's own ways to look at it."""
    none = np.zeros((0, 3))
    return Frame(moment.rotations, moment.positions, none, none, np.zeros(3), {})


class Recorder:
    """Records a `World` that your own loop steps, to be played in the browser.

    Args:
        world: any `World`.
        follow: name of a body that the camera goes with; it stands still if None.
        title: of the page.

    Raises:
        TypeError: `world` is no World.
        ValueError: there is no body of that name.

    Example::

        recorder = dynenvs.Recorder(world)
        for _ in range(400):
            world.step()
            recorder.record(height=world.q[2])
        recorder.view().save("fall.html")
    """

    def __init__(self, world: World, *, follow: str | None = None, title: str = "World") -> None:
        if not isinstance(world, World):
            hint = "; dynenvs.view(env) records an environment" if hasattr(world, "render") else ""
            raise TypeError(f"world must be a dynenvs.World, got {type(world).__name__}{hint}")
        if follow is not None and follow not in world.model.body_names:
            names = ", ".join(world.model.body_names)
            raise ValueError(f"follow: unknown body {follow!r}; choose from: {names}")
        self._world, self._follow, self._title = world, follow, title
        self._watcher = Watcher(world.model)
        self._kept: list[tuple[Moment, dict[str, Floats]]] = []

    def __len__(self) -> int:
        return len(self._kept)

    def record(self, readings: Mapping[str, ArrayLike] | None = None, /, **more: ArrayLike) -> None:
        """Keep the world as it is now; call it after each step that shall be seen.

        Args:
            readings: what to plot below the picture: a number by its name, or several, shape (n,);
                the same names and sizes each time.
            more: the same as keyword arguments.

        Raises:
            ValueError: other readings than at first, or a time that has been recorded already.
        """
        world = self._world
        if self._watcher.model is not world.model:  # it has made room for more contacts
            self._watcher = Watcher(world.model)
        row = world.get_state()[None].copy()
        moment = self._watcher.moment(row, row["memory"]["impulse"][0], world.timestep)
        given = {
            name: np.atleast_1d(np.asarray(value, float))
            for name, value in {**(readings or {}), **more}.items()
        }
        if self._kept:
            last, first = self._kept[-1][0].time, self._kept[0][1]
            if moment.time <= last:
                raise ValueError(
                    f"the world's time {moment.time:.6g} s is recorded already (up to {last:.6g} "
                    "s): record after each step, and take a new Recorder after a reset"
                )
            sizes = [{name: value.shape for name, value in d.items()} for d in (first, given)]
            if sizes[0] != sizes[1]:
                raise ValueError(f"readings were {sizes[0]} at first, now they are {sizes[1]}")
        self._kept.append((moment, given))

    def recording(self, plots: Sequence[str] | None = None) -> Recording:
        """All that was recorded so far.

        Raises:
            ValueError: nothing was, or there is no plot of such a name.
        """
        if not self._kept:
            raise ValueError("the recording is empty: call record() after a step of the world")
        model, first = self._world.model, self._kept[0][1]
        own = [
            Plot(name, "", (name,) if len(v) == 1 else tuple(f"{name} {i}" for i in range(len(v))))
            for name, v in first.items()
        ]
        title, follows = self._title, self._follow is not None
        all_plots = [*own, Plot("contact force", "N", ("normal",))]
        names = plots if plots is not None else [plot.name for plot in all_plots[:4]]
        moments = [moment for moment, _ in self._kept]
        shot = shot_for(model, moments[:1] if follows else moments)
        made = Recording(model, all_plots, title=title, shot=shot, follows=follows, chosen=names)
        for i, (moment, given) in enumerate(self._kept):
            numbers = [value.tolist() for value in given.values()] + [[normal_force(moment)]]
            made.add(moment, numbers, self._focus(i))
        return made

    def _focus(self, moment: int) -> Floats:
        """Where the camera's body was at `moment` [m]."""
        if self._follow is None:
            return np.zeros(3)
        body = self._world.model.body_id(self._follow)
        return np.array(self._kept[moment][0].positions[body])

    def view(self, *, plots: Sequence[str] | None = None) -> Page:
        """The page that plays it (`dynenvs.view`)."""
        from dynenvs.viewer.page import Page

        return Page(self.recording(plots).document())
