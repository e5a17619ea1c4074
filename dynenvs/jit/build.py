"""Make the compiled core: `python -m dynenvs.jit.build`.

Every kernel that has machine code of its own (`compiled.Unit`) is compiled for a processor that all
machines of the last ten years have, as code that may lie anywhere in memory, and all are linked to
one shared library (`library.py`).  Nothing in it comes from numba or Python, and it asks its host
for copies of memory alone: so its results depend on nothing of the host.

It needs numba (the extra `jit`) and a C compiler: that of the wheel `ziglang` if it is installed,
which links for old systems too, or else `cc`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pkgutil
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from pathlib import Path

from dynenvs.files import written_whole
from dynenvs.jit import library

# LLVM's name of the processor that the library is made for, and people's
PROCESSORS = {
    "x86_64": ("x86-64-v3", "AVX2 and FMA (x86-64-v3)"),
    "arm64": ("generic", "NEON (any arm64)"),
}
NAMES = {"AMD64": "x86_64", "aarch64": "arm64"}  # what systems call them besides
OPTIONS = {  # of linkers: nothing is left out, nothing is there in vain
    "Linux": ["-Wl,--no-undefined", "-Wl,--gc-sections", "-s"],
    "Darwin": ["-Wl,-undefined,error", "-Wl,-dead_strip", "-Wl,-x"],
    "Windows": ["-Wl,--export-all-symbols", "-s"],
}
GLIBC = "2.28"  # the oldest that it runs with
_GLUE = Path(__file__).with_name("glue.c")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make it where it belongs, or in another file."""
    parser = argparse.ArgumentParser(prog="python -m dynenvs.jit.build", description=__doc__)
    parser.add_argument("--out", type=Path, default=library.place(), help="file to write")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    given = parser.parse_args(arguments)
    build(given.out, given.jobs)


def build(out: Path, jobs: int, only: Sequence[str] = ()) -> None:
    """Compile and link.

    Args:
        out: the file to write.
        jobs: how many processes compile.
        only: these kernels, by module and name; all if empty.

    Raises:
        RuntimeError: no C compiler, or something in a kernel asks for what the library has not.
    """
    # Before numba is imported anywhere
    _choose_processor()
    import_all()
    from dynenvs.jit.compiled import units

    # The slow ones first, so that none is left over at the end
    names = sorted(only or units, key=lambda name: (-units[name].seconds, name))
    with tempfile.TemporaryDirectory() as folder:
        # A process for each: what it has compiled before would change the code of the next
        with ProcessPoolExecutor(
            jobs, _context(names), _choose_processor, max_tasks_per_child=1
        ) as pool:
            running = [pool.submit(make_object, name, folder) for name in names]
            for count, done in enumerate(as_completed(running), 1):
                done.result()
                print(f"\r{count} of {len(names)} kernels", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        _link(sorted(names), Path(folder), out)
    # What follows from declarations above this package's layer
    header = import_module("dynenvs.memory.c_header").c_header()
    with written_whole(out.with_suffix(".h")) as draft:
        draft.write_text(header)


def _context(names: Sequence[str]) -> BaseContext:
    """How processes begin: as copies of one that has imported all kernels, where there are such."""
    if os.name != "posix":
        return get_context("spawn")
    context = get_context("forkserver")
    modules = sorted({name.rpartition(".")[0] for name in names})
    context.set_forkserver_preload(["dynenvs.jit.compiler", "dynenvs.jit.shared", *modules])
    return context


def import_all() -> None:
    """Import every module of the package, but those that need an extra that is not installed."""
    package = import_module("dynenvs")
    for module in pkgutil.walk_packages(package.__path__, "dynenvs."):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("dynenvs"):
                    raise


def make_object(name: str, folder: str) -> None:
    """Machine code of a unit, in a file of the folder."""
    from dynenvs.jit.compiled import units
    from dynenvs.jit.compiler import Made
    from dynenvs.jit.linking import Effort
    from dynenvs.jit.private import llvm
    from dynenvs.jit.shared import shared_code

    # A process of its own: it has imported nothing of ours yet
    Effort.thorough = True
    import_module(name.rpartition(".")[0])
    made = Made(units[name])
    module = shared_code(made.dispatcher.py_func, made.arguments, f"{name}.code")
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=_processor()[0], opt=3, reloc="pic", codemodel="default"
    )
    Path(folder, f"{name}.o").write_bytes(machine.emit_object(module))


def _processor() -> tuple[str, str]:
    machine = platform.machine()
    return PROCESSORS[NAMES.get(machine, machine)]


def _choose_processor() -> None:
    """Let numba, once it is imported, compile for the library's processor."""
    os.environ["DYNENVS_CORE"] = "jit"
    os.environ["PYTHONHASHSEED"] = "0"  # of processes that compile: sets in one order, always
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = _processor()[0], ""


def _link(names: Sequence[str], folder: Path, out: Path) -> None:
    """Link the kernels' code, the cells by which they find each other, and the table."""
    # A cell for each kernel, which holds its address; kernels call each other through these
    table = {name: f"{name}.code" for name in names}
    lines = [f'#include "{_GLUE.name}"']
    for number, name in enumerate(names):
        lines.append(f'extern char code_{number} __asm__(SYMBOL("{name}.code"));')
        lines.append(f'void *cell_{number} __asm__(SYMBOL("{name}")) = &code_{number};')
    # What a program or this package can ask the library
    layout = import_module("dynenvs.memory.origin").this().layout
    for function, text in (
        ("dynenvs_layout", layout),
        ("dynenvs_sources", library.digest_of_sources()),
        ("dynenvs_processor", _processor()[1]),
        ("dynenvs_kernels", json.dumps(table)),
    ):
        lines.append(f"EXPORT const char *{function}(void) {{ return {json.dumps(text)}; }}")
    # One small C file beside the objects
    source = folder / "table.c"
    source.write_text("\n".join(lines) + "\n")
    objects = [str(folder / f"{name}.o") for name in names]
    options = ["-O2", "-fPIC", "-shared", *OPTIONS.get(platform.system(), [])]
    out.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(out) as draft:
        command = [*_compiler(), *options, f"-I{_GLUE.parent}", "-o", str(draft), str(source)]
        done = subprocess.run([*command, *objects], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    with written_whole(out.with_suffix(".sha256")) as draft:
        draft.write_text(library.digest_of(out) + "\n")
    print(f"{out} has {out.stat().st_size / 1e6:.1f} MB, {len(names)} kernels", file=sys.stderr)


def _compiler() -> list[str]:
    if importlib.util.find_spec("ziglang") is None:
        return ["cc"]
    target = []
    if platform.system() == "Linux":
        target = ["-target", f"{platform.machine()}-linux-gnu.{GLIBC}"]
    return [sys.executable, "-m", "ziglang", "cc", *target]


if __name__ == "__main__":
    main()
