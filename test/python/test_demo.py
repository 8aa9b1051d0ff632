"""python -m memarray demo, as a user runs it."""

import importlib.util
import json
import subprocess
import sys

import lj_reference
import memarray
import numpy as np
import pytest

demo = pytest.importorskip("memarray.lennard_jones.demo", reason="built without the demo")


@pytest.fixture
def run(tmp_path, capsys):
    def run_demo(*arguments, out="out"):
        status = demo.main(["--cells", "3", "--out", str(tmp_path / out), *map(str, arguments)])
        text = capsys.readouterr()
        summary = tmp_path / out / "summary.json"
        return status, text, json.loads(summary.read_text()) if summary.exists() else None

    return run_demo


@pytest.fixture
def without(monkeypatch):
    """Returns a function that hides packages of the extra, as if they were not installed."""
    find_spec = importlib.util.find_spec

    def hide(*names):
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else find_spec(name))

    return hide


def test_demo_shares_memory_copies_nothing_and_restarts(run, tmp_path):
    status, text, summary = run("--steps", 60)
    assert status == 0 and summary["passed"]
    assert {"shared_memory", "nothing_copied", "frames_unchanged", "restart_identical"} <= summary["checks"].keys()
    assert summary["copies"] == 0 and summary["frames"] >= 50 and summary["steps"] == 60
    for name in ("positions", "velocities"):
        assert summary["addresses"][name]["C++"] == summary["addresses"][name]["NumPy"]
        assert summary["addresses"][name]["C++"] in text.out
    for words in (
        "device       cpu",
        "the same memory",
        "copies made  0",
        "bit for bit",
        "frames kept",
        "summary.json",
    ):
        assert words in text.out
    assert len(summary["radial_distribution"]["g"]) == 200 and len(summary["samples"]) == summary["frames"]
    assert (tmp_path / "out" / "checkpoint.npz").exists()


def test_restarted_run_equals_uninterrupted_run(run, tmp_path):
    run("--steps", 20, out="start")
    whole = run("--steps", 40, "--restart", tmp_path / "start/checkpoint.npz", out="whole")[2]
    run("--steps", 25, "--restart", tmp_path / "start/checkpoint.npz", out="half")
    status, text, both = run("--steps", 15, "--restart", tmp_path / "half/checkpoint.npz", out="both")
    assert status == 0 and "restarted    from" in text.out
    assert both["last_step"] == whole["last_step"] == 60 and both["first_step"] == 45
    assert both["positions_checksum"] == whole["positions_checksum"]


def test_demo_without_optional_packages_runs_and_names_them(run, without, tmp_path):
    without("tqdm", "matplotlib", "matplotlib.backends.backend_agg", "matplotlib.figure", "torch")
    status, text, summary = run("--steps", 20)
    assert status == 0 and summary["missing"] == ["tqdm", "matplotlib"] and summary["picture"] is None
    assert "no progress bar (tqdm is not installed) and no picture (matplotlib is not installed)" in text.out
    assert "pip install 'memarray[demo]'" in text.out
    assert not (tmp_path / "out" / "picture.png").exists()


def test_torch_analysis_shares_memory_and_can_fail_the_demo(run, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    status, text, summary = run("--steps", 10)
    assert status == 0 and summary["checks"]["torch"] is True and summary["torch"] == torch.__version__
    assert "the same memory; its structure factor agrees with NumPy's" in text.out
    structure_factor = demo.analysis.structure_factor
    monkeypatch.setattr(demo.analysis, "structure_factor", lambda *given: structure_factor(*given) * (1 + 1e-6))
    status, text, summary = run("--steps", 10)
    assert status == 1 and summary["checks"]["torch"] is False
    assert "DISAGREES" in text.out and "FAILED: torch" in text.err


def test_summary_omits_torch_when_not_installed(run, without):
    without("torch")
    status, text, summary = run("--steps", 10)
    assert (
        status == 0
        and "torch" not in summary
        and "torch" not in summary["checks"]
        and "structure factor" not in text.out
    )


def test_progress_is_shown_with_tqdm(run, monkeypatch):
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed")
    seen = {}

    def count(items, desc, **_):
        seen[desc.strip()] = 0
        for item in items:
            seen[desc.strip()] += 1
            yield item

    monkeypatch.setattr(tqdm, "tqdm", count)
    _, text, summary = run("--steps", 60)
    assert seen == {"melting": 2, "running": summary["frames"]}
    assert "tqdm" not in summary["missing"] and "is not installed" not in text.out


def test_summary_matches_saved_checkpoint(run, tmp_path):
    summary = run("--steps", 60)[2]
    simulation = demo.load_checkpoint(tmp_path / "out" / "checkpoint.npz")
    x, v = np.array(simulation.positions), np.array(simulation.velocities)
    _, energies, virials = lj_reference.forces_and_energy(x, simulation.box)
    kinetic = 0.5 * (v**2).sum()
    last = summary["samples"][-1]
    assert last["step"] == summary["last_step"] == 60
    assert last["kinetic"] == pytest.approx(kinetic, rel=1e-12)
    assert last["potential"] == pytest.approx(energies.sum(), rel=1e-10)
    assert last["pressure"] == pytest.approx((2 * kinetic + virials.sum()) / (3 * simulation.box**3), rel=1e-9)
    assert summary["momentum"] == pytest.approx(np.abs(v.sum(axis=0)).max(), rel=1e-3, abs=1e-12)
    totals = [each["kinetic"] + each["potential"] for each in summary["samples"]]
    assert summary["energy_per_particle"] == pytest.approx(np.mean(totals) / len(x), rel=1e-12)
    temperatures = [2 * each["kinetic"] / (3 * (len(x) - 1)) for each in summary["samples"]]
    assert summary["temperature"] == pytest.approx(np.mean(temperatures), rel=1e-12)
    r, g = (np.array(summary["radial_distribution"][name]) for name in ("r", "g"))
    assert g[r < 0.8].max() == 0.0 and 1.0 < r[g.argmax()] < 1.2 and g.max() > 2.0


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.filterwarnings("default")
def test_picture_is_drawn(run, tmp_path):
    assert run("--steps", 20)[2]["picture"] == "picture.png"
    assert (tmp_path / "out" / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_copy_or_a_changed_frame_fails_the_demo(run, monkeypatch):
    """Shows that the demo's own checks can fail."""
    kept = demo.Frames.keep

    def keep_a_view_that_changes(self, array):
        kept(self, array)
        self._views[-1] = self._views[-1] + 1.0

    monkeypatch.setattr(demo.Frames, "keep", keep_a_view_that_changes)
    status, text, summary = run("--steps", 10)
    assert status == 1 and not summary["passed"] and not summary["checks"]["frames_unchanged"]
    assert "SOME HAVE CHANGED" in text.out and "FAILED: frames_unchanged" in text.err
    monkeypatch.setattr(demo.Frames, "keep", kept)

    counts = iter(range(100))
    monkeypatch.setattr(demo.memarray, "stats", lambda: {"copies": next(counts)})
    status, text, summary = run("--steps", 10)
    assert status == 1 and "FAILED: nothing_copied" in text.err and summary["copies"] == 1


def test_a_simulated_device_gives_the_same_numbers(run, tmp_path):
    """Compares bit for bit: the simulated kernels are the host's functions, and each element's arithmetic has one
    order."""
    on_host = run("--steps", 40, out="host")[2]
    status, text, simulated = run("--steps", 40, "--device", "simulated", out="simulated")
    assert status == 0 and simulated["passed"], text.err
    assert simulated["device"] == "cuda:0 (simulated)" and "device       cuda:0 (simulated)" in text.out
    assert on_host["device"] == "cpu"
    for name in ("positions_checksum", "samples", "momentum", "radial_distribution", "mean_square_displacement"):
        assert simulated[name] == on_host[name], name
    assert simulated["checks"].keys() ^ on_host["checks"].keys() == {"copied_for_frames_only", "nothing_copied"}
    assert simulated["copies"] == 4 * simulated["frames"]
    whole = run("--steps", 5, "--restart", tmp_path / "host/checkpoint.npz", out="host")[2]
    arguments = ("--restart", tmp_path / "simulated/checkpoint.npz", "--device", "simulated")
    again = run("--steps", 5, *arguments, out="simulated")[2]
    assert again["last_step"] == whole["last_step"] == 45
    assert again["positions_checksum"] == whole["positions_checksum"]


def test_a_copy_back_to_the_device_fails_the_demo(run, monkeypatch):
    step = demo.Simulation.step

    def step_after_writing_on_the_host(self, count):
        with self.velocities.write(device="cpu"):
            pass
        step(self, count)

    monkeypatch.setattr(demo.Simulation, "step", step_after_writing_on_the_host)
    status, text, summary = run("--steps", 10, "--device", "simulated")
    assert status == 1 and summary["checks"]["copied_for_frames_only"] is False
    assert "FAILED: copied_for_frames_only" in text.err


def test_missing_device_is_reported_as_error(run):
    if memarray.cuda.is_available():
        pytest.skip("there is a device")
    status, text, summary = run("--device", "cuda")
    assert status == 2 and summary is None
    assert "The demo cannot run on cuda:" in text.err and "--device cpu" in text.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "0"], "--steps"),
        (["--cells", "-1"], "--cells"),
        (["--device", "gpu"], "neither cpu nor cuda"),
        (["--device", "simulated:1"], "neither cpu nor cuda"),
    ],
)
def test_bad_arguments_are_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        demo.main(arguments)
    assert words in capsys.readouterr().err


def test_bad_restart_files_are_refused(run, tmp_path):
    status, text, _ = run("--restart", tmp_path / "none.npz")
    assert status == 2 and "no such checkpoint" in text.err
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    status, text, _ = run("--restart", tmp_path / "other.npz")
    assert status == 2 and "not a checkpoint" in text.err


def test_command_line_runs_and_refuses_mismatched_restart(tmp_path):
    command = [sys.executable, "-m", "memarray", "demo", "--steps", "5", "--cells", "2", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "32 Lennard-Jones particles" in done.stdout and "copies made  0" in done.stdout
    again = [*command, "--restart", str(tmp_path / "out" / "checkpoint.npz"), "--cells", "3"]
    refused = subprocess.run(again, capture_output=True, text=True)
    assert refused.returncode == 2 and "has 2 cells" in refused.stderr
