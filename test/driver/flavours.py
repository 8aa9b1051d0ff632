"""README's first command, verbatim, in an empty environment: with every toolkit hidden, and with one off the PATH."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

from . import builds, environment, wheels
from .commands import ROOT, WORK, Absent, Part, PartFailed, shell_commands

# Variables that point the build at a toolkit or away from one, or Python at another memarray.
VARIABLES = (
    *("MEMARRAY_CUDA", "MEMARRAY_CUDA_PREFIXES", "CUDACXX", "CUDAARCHS"),
    *("CUDAToolkit_ROOT", "CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"),
    *("CMAKE_ARGS", "PYTHONPATH"),
)


def flavours(part: Part) -> None:
    """Runs README's first command in an empty environment, with toolkits hidden and with one off the PATH (nightly)."""
    if not part.nightly:
        raise Absent("nightly only; the parts package and demo do the same with the wheel")
    line = first_command(ROOT / "README.md")
    part.note(line)
    try:
        set_up_each(part, line)
    except PartFailed as failure:
        # The command of this failure names a temporary folder, which is gone.
        raise PartFailed(str(failure), part.again) from failure


def set_up_each(part: Part, line: str) -> None:
    # An empty list: the usual prefixes may have a toolkit.
    set_up(part, line, "host", {"MEMARRAY_CUDA_PREFIXES": ""})
    toolkit = builds.toolkit()
    if not toolkit:
        part.note("no CUDA toolkit on this machine: the other flavour is not tried")
        return
    set_up(part, line, "cuda", {} if usual(toolkit) else {"CUDACXX": str(toolkit)})


def first_command(readme: Path) -> str:
    line = shell_commands(readme)[0]
    if not line.startswith("pip install "):
        raise PartFailed(f"{readme.name} does not begin with the command that installs memarray")
    return line


def usual(nvcc: Path) -> bool:
    return any(nvcc == Path(prefix) / "bin" / "nvcc" for prefix in builds.CUDA_PREFIXES)


def set_up(part: Part, line: str, flavour: str, settings: dict[str, str]) -> None:
    """Runs the line in a copy of the files, with this machine's compilers only; checks the result."""
    folder = environment.create(part, f"venv-flavour-{flavour}")
    with tempfile.TemporaryDirectory() as elsewhere:
        copy = unpacked_sdist(part, Path(elsewhere))
        env = {
            "PATH": f"{folder / 'bin'}{os.pathsep}{path_without('nvcc', Path(elsewhere) / 'path')}",
            "CMAKE_BUILD_PARALLEL_LEVEL": str(part.jobs),
            **settings,
        }
        plain = ["env", *(f"--unset={variable}" for variable in VARIABLES if variable not in settings)]
        part.run([*plain, "sh", "-ec", line], env=env, cwd=copy)
        summary = copy / "memarray-demo" / "summary.json"
        if not summary.exists() or not json.loads(summary.read_text()):
            raise PartFailed(f"{line}: the demo ({flavour}) wrote no summary.json")
        if not (summary.parent / "picture.png").exists():
            raise PartFailed(f"{line}: the demo ({flavour}) drew no picture, although its extra is installed")
        check = (
            f"import memarray; info = memarray.build_info(); assert info['flavour'] == {flavour!r}, info; print(info)"
        )
        part.run([*plain, folder / "bin" / "python", "-c", check], cwd=Path(elsewhere))
    part.note(f"built, installed and run: flavour {flavour}")
    shutil.rmtree(folder)


def unpacked_sdist(part: Part, folder: Path) -> Path:
    """Returns the files of a clone, in a folder where a build changes nothing in this tree."""
    part.run(["tar", "-xzf", wheels.build_sdist(part, WORK / "dist" / "flavours"), "-C", folder])
    return next(folder.glob("memarray-*"))


def path_without(program: str, folder: Path) -> str:
    """Returns the PATH, with each folder that has the program replaced by links to all its other files."""
    entries = []
    for number, entry in enumerate(os.environ["PATH"].split(os.pathsep)):
        if not entry or not (Path(entry) / program).exists():
            entries.append(entry)
            continue
        links = folder / str(number)
        links.mkdir(parents=True)
        for path in Path(entry).iterdir():
            if path.name != program:
                (links / path.name).symlink_to(path)
        entries.append(str(links))
    return os.pathsep.join(entries)
