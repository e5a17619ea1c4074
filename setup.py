"""The wheel: for one kind of processor, since it holds the compiled core; for every Python.

`DYNENVS_WITHOUT_CORE=1` leaves it out: kernels are then compiled when they are needed.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

if Path("src/dynenvs").is_file():  # Git for Windows writes a link's text where it may make none
    raise SystemExit(
        "src/dynenvs must be a link: git clone -c core.symlinks=true (Windows: in developer mode)"
    )

WITHOUT = os.environ.get("DYNENVS_WITHOUT_CORE") == "1"


class BuildWithCore(build_py):
    """Modules, and the core compiled from them."""

    def run(self) -> None:
        """Copy the modules, then compile these copies: the core belongs to exactly them."""
        super().run()
        if self.editable_mode or WITHOUT:
            return
        root = Path(self.build_lib).absolute()
        # By its PYTHONPATH pip leads to what the build requires
        places = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        here = {"PYTHONPATH": os.pathsep.join(places), "DYNENVS_CACHE_DIR": str(root.parent)}
        # -B: nothing else beside the modules; -P: not the checkout's, in whose folder this runs
        words = [sys.executable, "-B", "-P", "-m", "dynenvs.jit.build"]
        subprocess.run(words, env={**os.environ, **here}, check=True)
        if not (root / "dynenvs" / "lib" / "dynenvs.sha256").is_file():
            raise SystemExit(f"the core is not where the wheel's modules are: {root}")


class WheelOfPlatform(bdist_wheel):
    """A wheel for this kind of machine and every Python: nothing in it is linked with Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Linked for an old C library, which the tag says."""
        if WITHOUT:
            return super().get_tag()
        machine = super().get_tag()[2]
        if platform.system() == "Linux":
            machine = f"manylinux_2_28_{platform.machine()}"
        return "py3", "none", machine


class PlatformDistribution(Distribution):
    """Files for one kind of machine, unless the core is left out."""

    def has_ext_modules(self) -> bool:
        """The core counts as one."""
        return not WITHOUT


setup(
    distclass=PlatformDistribution,
    cmdclass={"build_py": BuildWithCore, "bdist_wheel": WheelOfPlatform},
)
