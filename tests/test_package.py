"""What gets installed: names, types, versions, and nothing imported that was not asked for."""

from __future__ import annotations

import importlib.metadata
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dynenvs
from dynenvs.registration import ENVIRONMENTS, LEGGED, MUJOCO

ROOT = Path(__file__).parent.parent


def python(code: str, cwd: Path, **environment: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", dynenvs.__all__)
def test_public_names_exist_and_are_documented(name: str) -> None:
    assert getattr(dynenvs, name).__doc__
    assert name in dir(dynenvs)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dynenvs.nonsense  # noqa: B018


def test_it_is_found_next_to_its_checkout(tmp_path: Path) -> None:
    """A folder of that name, as `git clone` makes it, is no package: the installed one is meant."""
    (tmp_path / "dynenvs").mkdir()
    code = "import dynenvs; print(dynenvs.__version__)"
    assert python(code, tmp_path).strip() == dynenvs.__version__


def test_names_do_not_depend_on_which_was_used_first(tmp_path: Path) -> None:
    """Each is loaded when first used, and so are others of its module."""
    code = "import dynenvs; dynenvs.point_jacobian; print(callable(dynenvs.frames))"
    assert python(code, tmp_path).strip() == "True"


def test_no_public_name_is_a_module_of_the_package() -> None:
    """Importing that module anywhere would put it in the place of what the name stands for."""
    modules = {found.name for found in pkgutil.iter_modules(dynenvs.__path__)}
    assert not modules & set(dynenvs.__all__)


def test_version_is_the_distribution_s() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == dynenvs.__version__
    assert importlib.metadata.version("dynenvs") == dynenvs.__version__


def test_the_tests_of_the_readme_pull_no_torch() -> None:
    """The extra `test`, with the extras that it takes in; `dev` has what they lack."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]

    def packages(extra: str) -> set[str]:
        found = set()
        for line in extras[extra]:
            name, others = re.match(r"([\w-]+)(?:\[([\w,]+)\])?", line).groups()  # type: ignore[union-attr]
            if name == "dynenvs":
                found |= set[str]().union(*map(packages, others.split(",")))
            found.add(name)
        return found

    heavy = {"stable-baselines3", "ray", "onnxscript", "tianshou", "torchrl", "tensorboard"}
    assert not heavy & packages("test")
    assert heavy <= packages("dev")
    assert packages("test") >= {"hypothesis", "minari", "mujoco", "pin", "pytest", "pytest-xdist"}


def test_a_clone_whose_links_are_texts_is_told_so(tmp_path: Path) -> None:
    """As Git for Windows makes it where links are not allowed; pip would install no package."""
    pytest.importorskip("setuptools.command.bdist_wheel")  # in pip's build environment there is one
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "dynenvs").write_text("../dynenvs")
    (tmp_path / "setup.py").write_text((ROOT / "setup.py").read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "setup.py", "--version"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "must be a link: git clone -c core.symlinks=true" in done.stderr.splitlines()[-1]


def test_the_conda_recipe_asks_for_what_the_wheel_does() -> None:
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert f'version: "{project["version"]}"' in recipe
    asked = re.search(r"  run:\n(.*?)\n\n", recipe, re.DOTALL)
    assert asked is not None
    found = {line.strip(" -").replace(" ", "") for line in asked[1].splitlines()}
    assert found == {f"python{project['requires-python']}", *project["dependencies"]}


def test_types_and_links_are_in_place() -> None:
    package = Path(dynenvs.__file__).parent
    assert (package / "py.typed").is_file()
    for name in ("envs", "agents"):
        assert (package / name / "__init__.py").is_file()


def test_import_registers_the_environments_and_is_light(tmp_path: Path) -> None:
    """No numba, pygame, torch or scipy until something needs them."""
    code = """
import sys, dynenvs, gymnasium
heavy = {"numba", "pygame", "torch", "scipy", "stable_baselines3", "matplotlib"} & set(sys.modules)
print(sorted(heavy), sorted(e for e in gymnasium.registry if e.startswith("dynenvs/")))
"""
    assert python(code, tmp_path).strip() == f"[] {sorted([*ENVIRONMENTS, *LEGGED, *MUJOCO])}"


def test_an_environment_is_made_of_its_own_modules(tmp_path: Path) -> None:
    """A pendulum without the other robots, the experts, the renderer, the command line."""
    code = """
import sys, dynenvs, gymnasium as gym
print(*sorted(name for name in sys.modules if name.partition(".")[0] == "dynenvs"))
gym.make("dynenvs/DoublePendulum-v0")
print(*sys.modules)
"""
    imported, made = (line.split() for line in python(code, tmp_path).splitlines())
    assert imported == ["dynenvs", "dynenvs.registration", "dynenvs.version"]
    foreign = {"PIL", "minari", "mujoco", "pygame", "rich", "stable_baselines3", "torch", "typer"}
    assert foreign & {name.partition(".")[0] for name in made} == set()
    rooms = {name.split(".")[1] for name in made if name.startswith("dynenvs.")}
    assert rooms & {"agents", "cli", "reference", "viewer"} == set()
    envs = {name.removeprefix("dynenvs.envs.") for name in made if name.startswith("dynenvs.envs.")}
    shared = {name for name in envs if name.partition(".")[0] in ("checks", "core")}
    own = {"pendulum", "pendulum.double_pendulum", "robots", "robots.pendulum"}
    assert envs - shared == own


@pytest.mark.thorough
def test_the_core_and_the_environments_work_without_pygame_and_torch(tmp_path: Path) -> None:
    code = """
import sys
for name in ("pygame", "torch", "stable_baselines3", "rich", "typer", "PIL"):
    sys.modules[name] = None
import gymnasium as gym, dynenvs
env = gym.make("dynenvs/PlanarHumanoid-v0")
env.reset(seed=0)
print(env.step(env.action_space.sample())[0].shape)
"""
    assert python(code, tmp_path).strip() == "(20,)"


def test_no_folder_of_the_repository_shadows_a_package(tmp_path: Path) -> None:
    """Nothing named envs or agents is importable from elsewhere."""
    code = """
import importlib.util
print(*(importlib.util.find_spec(name) is None for name in ("envs", "agents")))
"""
    assert python(code, tmp_path).strip() == "True True"


# The first version without a hole, where one was published
MENDED = {
    "filelock": "3.20.3",  # CVE-2025-68146, CVE-2026-22701
    "onnx": "1.21",  # CVE-2026-27489
    "pillow": "11.3",  # CVE-2025-48379
    "ray": "2.54",  # CVE-2025-62593, CVE-2026-27482
    "torch": "2.10",  # CVE-2025-32434, CVE-2026-24747
}


def test_no_version_with_a_published_hole_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    asked = "\n".join([*project["dependencies"], *(line for extra in extras for line in extra)])
    bounds = dict(re.findall(r"^([\w-]+)>=([\d.]+)$", asked, re.MULTILINE))
    for name, version in MENDED.items():
        assert _numbers(bounds[name]) >= _numbers(version), name


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


@pytest.mark.parametrize("name", ["ci", "release"])
def test_workflows_can_be_read(name: str) -> None:
    """What is no YAML is never run; actions are named by digest, and jobs that are needed exist."""
    yaml = pytest.importorskip("yaml")
    text = (ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    for job in jobs.values():
        assert set(job.get("needs", [])) <= set(jobs)
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])
