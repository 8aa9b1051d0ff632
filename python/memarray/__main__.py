"""The command line: python -m memarray {demo, new, --cmakedir, --includedir, --version}."""

from __future__ import annotations

import sys
from pathlib import Path

from memarray import _core

USAGE = """usage: python -m memarray [--version] [--cmakedir] [--includedir] [demo ...] [new NAME]

  demo ...       run the Lennard-Jones demo; `python -m memarray demo --help` says what it takes
  new NAME       write a project of your own; `python -m memarray new --help` says what it can have
  --cmakedir     print the folder for CMake's -Dmemarray_DIR=
  --includedir   print the folder with memarray's headers, DLPack's and, in cccl/, CCCL's
  --version      print the version and how this memarray was built"""


def main(arguments: list[str]) -> int:
    # Relative to the built module: in an editable install the .py files are elsewhere.
    package = Path(_core.__file__).resolve().parent
    if arguments == ["--cmakedir"]:
        print(package / "lib" / "cmake" / "memarray")
    elif arguments == ["--includedir"]:
        print(package / "include")
    elif arguments == ["--version"]:
        from memarray import __version__, build_info

        details = ", ".join(f"{key} {value}" for key, value in build_info().items() if value and key != "version")
        print(f"memarray {__version__} ({details})")
    elif arguments[:1] == ["demo"]:
        return demo(arguments[1:])
    elif arguments[:1] == ["new"]:
        from memarray import _new_project

        return _new_project.main(arguments[1:])
    else:
        wants_help = arguments in (["-h"], ["--help"])
        print(USAGE, file=sys.stdout if wants_help else sys.stderr)
        return 0 if wants_help else 2
    return 0


def demo(arguments: list[str]) -> int:
    try:
        from memarray.lennard_jones import demo as lennard_jones
    except ImportError as error:
        print(f"this memarray was built without its demo ({error})", file=sys.stderr)
        return 1
    return lennard_jones.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
