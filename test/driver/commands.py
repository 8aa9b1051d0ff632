"""Commands of a part: logged in full; only closing lines and failures are shown."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "test"
#: Arguments of the interpreter that run tests.
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")

# Summary lines of pytest, GoogleTest, stubtest and ruff.
CLOSING_LINE = re.compile(
    r"^=+ .*(passed|failed|error|no tests ran|deselected).* =+$"
    r"|^\[  (PASSED|FAILED)  \] \d+ tests?"
    r"|^\d+ (passed|failed)\b"
    r"|^Success: no issues found"
    r"|^Found \d+ error"
    r"|^All checks passed"
    r"|^MEMARRAY_SEED=\d+"  # seed of the random tests
)


class PartFailed(Exception):
    """A failed check. The message names it; `repeat` is the command that reproduces it."""

    def __init__(self, message: str, repeat: str = "") -> None:
        super().__init__(message)
        self.repeat = repeat


class Absent(Exception):
    """The exception of a part that has nothing to work on in this tree or on this machine."""


@dataclass
class Part:
    """A running part, which runs commands and notes lines for the report.

    `quick`: a contributor's run, without anything that takes minutes. `nightly`: everything. Neither: the run of CI.
    `mutants`: a pattern for the names of the mutants to try.
    """

    name: str
    jobs: int
    nightly: bool = False
    minutes: float = 10
    quick: bool = False
    mutants: str = "*"
    notes: list[str] = field(default_factory=list)

    @property
    def again(self) -> str:
        """The command that runs this part alone, with the options of this run."""
        tier = "--nightly " if self.nightly else "" if self.quick else "--all "
        mutants = f" --mutants {shlex.quote(self.mutants)}" if self.mutants != "*" else ""
        return f"./test/run {tier}--only {self.name}{mutants}"

    @property
    def log(self) -> Path:
        return WORK / "logs" / f"{self.name}.log"

    def note(self, line: str) -> None:
        self.notes.append(line)
        print(f"    {line}", flush=True)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        limit: float | None = None,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Runs and logs the command, notes its closing lines. Raises PartFailed if it fails and `check` is set.

        ``limit``: seconds; by default enough for a build from an empty compiler cache on two busy cores.
        """
        limit = limit or (5400 if self.nightly else 1500)
        words = [str(word) for word in command]
        repeat = as_shell(words, env or {}, cwd)
        started = time.monotonic()
        finished = run_logged(words, {**os.environ, **(env or {})}, cwd, limit, self.log, repeat)
        for line in finished.stdout.splitlines():
            if CLOSING_LINE.match(line):
                self.note(line)
        if check and finished.returncode != 0:
            seconds = time.monotonic() - started
            tail = "\n".join(finished.stdout.splitlines()[-80:])
            print(tail, flush=True)
            reason = f"exit status {finished.returncode}" if finished.returncode != TIMED_OUT else f"over {limit:.0f} s"
            raise PartFailed(f"{Path(words[0]).name}: {reason} after {seconds:.0f} s (log: {self.log})", repeat)
        return finished


TIMED_OUT = 124


def run_logged(
    words: list[str], env: Mapping[str, str], cwd: Path, limit: float, log: Path, repeat: str
) -> subprocess.CompletedProcess[str]:
    """Runs the command. Output and errors go together into the result and the log. Kills its group past the limit."""
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("a") as stream:
        stream.write(f"\n$ {repeat}\n")
    process = subprocess.Popen(
        words,
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = TIMED_OUT
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    with log.open("a") as stream:
        stream.write(f"{output}[{time.monotonic() - started:.0f} s]\n")
    return subprocess.CompletedProcess(words, status, output, "")


def shell_commands(readme: Path) -> list[str]:
    """Returns the lines of the first block of shell commands."""
    block = re.search(r"^```sh\n(.*?)^```", readme.read_text(), re.MULTILINE | re.DOTALL)
    if not block:
        raise PartFailed(f"{readme.name} has no shell commands")
    return block[1].splitlines()


def as_shell(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> str:
    """Returns the command as typed at the root of the repository."""
    settings = []
    for key, value in env.items():
        if os.environ.get(key) != value:
            shorter = value.replace(os.environ["PATH"], "$PATH") if key == "PATH" else shlex.quote(value)
            settings.append(f"{key}={shorter.replace(str(ROOT), '$PWD')}")
    line = " ".join([*settings, shlex.join(words).replace(f"{ROOT}/", "")])
    if cwd != ROOT:
        line = f"(cd {shlex.quote(os.path.relpath(cwd, ROOT))} && {line})"
    return line
