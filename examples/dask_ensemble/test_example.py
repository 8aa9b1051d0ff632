"""Tests of this project. They need memarray with its demo, and distributed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=["a worker is killed", "all live"])
def report(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("ensemble") / "report.json"
    options = ["--no-kill"] if request.param == "all live" else []
    command = [sys.executable, HERE / "run_ensemble.py", "--members", "6", "--steps", "100", "--out", out, *options]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return json.loads(out.read_text())


def test_results_are_those_of_a_serial_run(report):
    assert report["equal"] == report["members"] == 6
    assert report["different"] == 6


def test_results_are_neither_copied_to_be_sent_nor_when_they_arrive(report):
    assert report["copies"] == 0
    assert report["copies_on_workers"] == 0
    assert report["adopted"] == 6


def test_killed_worker_lost_its_results(report, request):
    assert report["lost"] is ("a worker is killed" in request.node.callspec.id)
