"""Tests of what `python -m memarray new` writes and refuses. The part `new` of ./test/run builds the project."""

import ast
import itertools
import json
import re
import subprocess
import sys

import memarray
import pytest
from memarray import _new_project

OPTIONS = ("cuda", "cython", "nanobind")
VARIANTS = [dict(zip(OPTIONS, chosen, strict=True)) for chosen in itertools.product((False, True), repeat=3)]


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "memarray", "new", *arguments], cwd=cwd, capture_output=True, text=True
    )


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "+".join(k for k in v if v[k]) or "plain")
def test_every_variant_is_complete(variant):
    made = _new_project.project("my_waves", **variant)
    everything = "\n".join([*made, *made.values()])
    assert "gray_scott" not in everything
    assert "[cython]" not in everything and "[/cython]" not in everything
    assert ("src/simulation.cu" in made) == variant["cuda"] != ("src/simulation.cpp" in made)
    assert ("src/analysis.pyx" in made) == ("cython" in everything.lower()) == variant["cython"]
    assert ("nanobind" in everything) == variant["nanobind"] != ("pybind11" in everything)
    check_workflow(made[".github/workflows/tests.yml"], variant["cuda"])
    for file in (
        "README.md",
        "pyproject.toml",
        ".gitignore",
        ".github/workflows/tests.yml",
        "python/my_waves/__init__.py",
    ):
        assert file in made
    for file, text in made.items():
        if file.endswith(".py"):
            ast.parse(text)
        if file.endswith(".json"):
            json.loads(text)
        for line in re.findall(r"\b(?:src|tests)/\w+\.\w+", text) if file in {"CMakeLists.txt", "README.md"} else ():
            assert line in made, f"{file} speaks of {line}"


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "+".join(k for k in v if v[k]) or "plain")
def test_name_is_no_identifier_in_cpp(variant):
    """Keywords such as concept, the macro linux and functions such as gamma do not compile as a namespace."""
    made = _new_project.project("my_waves", **variant)
    sources = [text for file, text in made.items() if file.endswith((".cpp", ".cu", ".hpp"))]
    assert len(sources) == 4
    for text in sources:
        assert "my_waves_core" in text and not re.search(r"\bmy_waves\b", text)


@pytest.mark.parametrize("name", ["concept", "co_await", "thread_local", "linux", "gamma", "y0", "template"])
def test_words_of_cpp_are_names(name, tmp_path):
    assert _new_project.complaint(name, tmp_path / name) is None


def check_workflow(text, cuda):
    """Checks that with CUDA the steps install nvcc, build memarray with it, then the project; else none has nvcc."""
    steps = re.findall(r"^ *- run: (.*)$", text, re.MULTILINE)
    assert ("memarray" in steps[-3]) and steps[-3].startswith("MEMARRAY_CUDA=ON pip install --no-binary") == cuda
    at = [i for i, step in enumerate(steps) for words in ('"nvidia-cuda-nvcc==', "CUDACXX=") if words in step]
    assert at == ([len(steps) - 6, len(steps) - 4] if cuda else [])
    parts = re.findall(r'"nvidia-[a-z-]+==([\d.*]+)"', text)
    assert len(parts) == (5 if cuda else 0) and len(set(parts)) == cuda, "parts of one version"


def test_the_readme_has_two_commands():
    blocks = re.findall(r"^```sh\n(.*?)^```", _new_project.project("waves")["README.md"], re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1 and len(blocks[0].splitlines()) == 2
    assert "--no-build-isolation" in blocks[0]
    steps = re.findall(r"^ *- run: (.*)$", _new_project.project("waves")[".github/workflows/tests.yml"], re.MULTILINE)
    assert steps[-2:] == blocks[0].splitlines(), "continuous integration does what the README says"


def test_new_project_is_written_and_next_steps_printed(tmp_path):
    done = run("waves", "--nanobind", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = _new_project.project("waves", nanobind=True)
    assert {
        p.relative_to(tmp_path / "waves").as_posix() for p in (tmp_path / "waves").rglob("*") if p.is_file()
    } == set(made)
    assert all((tmp_path / "waves" / file).read_text() == text for file, text in made.items())
    assert "cd waves" in done.stdout and "cmake --workflow --preset test" in done.stdout


def test_existing_folder_is_left_unchanged(tmp_path):
    (tmp_path / "waves").mkdir()
    (tmp_path / "waves" / "README.md").write_text("mine")
    done = run("waves", cwd=tmp_path)
    assert done.returncode == 2 and "exists already" in done.stderr
    assert [p.name for p in (tmp_path / "waves").iterdir()] == ["README.md"]
    assert (tmp_path / "waves" / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Waves", "not a valid module name"),
        ("my-waves", "not a valid module name"),
        ("../waves", "not a valid module name"),
        ("waves__", "not a valid module name"),
        ("", "not a valid module name"),
        ("lambda", "keyword of Python"),
        ("memarray", "already"),
        ("json", "already"),
        ("numpy", "already"),
    ],
)
def test_invalid_project_name_is_refused(name, words, tmp_path):
    done = run(name, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(memarray.build_info()["flavour"] == "cuda", reason="this memarray has kernels")
def test_cuda_option_is_refused_without_cuda_support(tmp_path):
    done = run("waves", "--cuda", cwd=tmp_path)
    assert done.returncode == 2 and "MEMARRAY_CUDA=ON" in done.stderr
    assert not list(tmp_path.iterdir())


def test_replacement_missing_from_template_is_an_error(monkeypatch):
    monkeypatch.setattr(_new_project, "NANOBIND", (("README.md", "words that are not there", ""),))
    with pytest.raises(AssertionError, match="0 times"):
        _new_project.project("waves", nanobind=True)
