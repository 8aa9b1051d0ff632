"""python -m memarray demo: C++ integrates, and Python reads the same memory."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import memarray
from memarray.testing import simulated_devices

from . import Simulation, analysis, load_checkpoint, save_checkpoint
from .frames import Frames
from .picture import draw
from .progress import progress

TEMPERATURE = 0.72
SAMPLES = 60
# Arrays that a frame and its sample need: positions, velocities, energies, virials.
LOOKED_AT = 4


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _Demo(options).run()
    except memarray.CudaError as error:
        print(f"\nThe demo cannot run on {options.device}: {error}", file=sys.stderr)
        print("It runs on the processor with --device cpu.", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m memarray demo",
        description="Lennard-Jones molecular dynamics in C++, steered and analysed from Python through shared memory.",
    )
    parser.add_argument("--steps", type=_positive, default=2000, help="time steps to run (default: %(default)s)")
    parser.add_argument("--cells", type=_positive, help="FCC cells per side, 4 particles in each (default: 8)")
    parser.add_argument(
        "--out", type=Path, default=Path("memarray-demo"), help="folder for the results (default: %(default)s)"
    )
    parser.add_argument(
        "--device",
        type=_device,
        default="cpu",
        help="cpu, cuda, cuda:N, or simulated: a device that is emulated on the host (default: %(default)s)",
    )
    parser.add_argument("--restart", type=Path, metavar="FILE", help="go on from a checkpoint of an earlier run")
    return parser


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def _device(text: str) -> str:
    kind, _, index = text.partition(":")
    if kind not in ("cpu", "cuda", "simulated") or (index and (kind != "cuda" or not index.isdigit())):
        raise argparse.ArgumentTypeError(f"{text!r} is neither cpu nor cuda nor cuda:N nor simulated")
    return text


class _Demo:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.out: Path = options.out
        self.checks: dict[str, bool] = {}
        self.summary: dict[str, Any] = {"memarray": memarray.__version__}

    def run(self) -> int:
        self.out.mkdir(parents=True, exist_ok=True)
        simulated = self.options.device == "simulated"
        with simulated_devices(1) if simulated else contextlib.nullcontext():
            return self.run_on_device()

    def run_on_device(self) -> int:
        simulation = self.start()
        self.show_shared_memory(simulation)
        if not self.options.restart:
            self.equilibrate(simulation)
        frames, samples = self.produce(simulation)
        self.analyse(simulation, frames, samples)
        self.restart(simulation)
        return self.finish()

    def start(self) -> Simulation:
        options = self.options
        if options.restart:
            simulation = load_checkpoint(options.restart)
            if options.cells not in (None, simulation.options["cells"]):
                raise ValueError(f"{options.restart} has {simulation.options['cells']} cells; leave --cells out")
        else:
            simulation = Simulation(cells=options.cells or 8, temperature=2.0 * TEMPERATURE)
        print(f"memarray {memarray.__version__} demo: {simulation.particles:,} Lennard-Jones particles")
        print("C++ moves them; Python looks at the same memory while it does.\n")
        if options.restart:
            _line("restarted", f"from {options.restart} at step {simulation.steps_done:,}")
        self.to_device(simulation)
        on = str(simulation.positions.device) + (" (simulated)" if options.device == "simulated" else "")
        _line("device", on + (f", up to {memarray.options.threads} threads" if on == "cpu" else ""))
        self.summary |= {"device": on, "particles": simulation.particles, "first_step": simulation.steps_done}
        return simulation

    def to_device(self, simulation: Simulation) -> None:
        """Moves the simulation to the device, once. The device side stays valid while Python reads on the host, so
        nothing is copied back."""
        kind, _, index = self.options.device.partition(":")
        if kind == "cpu":
            return
        simulation.move_memory(memarray.dlpack.kDLCUDA, int(index or 0))
        simulation.compute_forces()  # on the device, because a GPU rounds differently

    def show_shared_memory(self, simulation: Simulation) -> None:
        addresses: dict[str, dict[str, str]] = {}
        shared = True
        for name in ("positions", "velocities", "energies", "density"):
            array = getattr(simulation, name)
            with array.read(device="cpu") as lease:
                view = np.from_dlpack(lease)
                in_cpp, in_numpy = simulation.addresses()[name], view.__array_interface__["data"][0]
            same = in_cpp == in_numpy
            shared = shared and same
            addresses[name] = {"C++": hex(in_cpp), "NumPy": hex(in_numpy)}
            kind = f"{view.dtype} {' x '.join(map(str, view.shape))}"
            verdict = "the same memory" if same else "NOT THE SAME MEMORY"
            _line(name, f"{kind:<18} C++ {in_cpp:#x}, NumPy {in_numpy:#x}: {verdict}")
        self.summary["addresses"] = addresses
        self.checks["shared_memory"] = shared

    def equilibrate(self, simulation: Simulation) -> None:
        """Melts the crystal while it rescales velocities now and then, and then lets it equilibrate freely."""
        count = min(1000, (self.options.steps + 1) // 2)
        for done in progress(range(0, count, 20), "melting"):
            simulation.step(min(20, count - done))
            if done < 0.8 * count:
                simulation.set_temperature(TEMPERATURE)
        simulation.zero_momentum()
        simulation.steps_done = 0

    def produce(self, simulation: Simulation) -> tuple[Frames, list[analysis.Sample]]:
        steps = self.options.steps
        every = max(1, steps // SAMPLES)
        checkpoint_at = steps - min(200, steps // 2)
        stops = sorted({*range(every, steps + 1, every), checkpoint_at, steps} - {0})
        frames = Frames()
        samples: list[analysis.Sample] = []
        copies = memarray.stats()["copies"]
        done, seconds = 0, 0.0
        for stop in progress(stops, "running"):
            started = time.perf_counter()
            simulation.step(stop - done)
            memarray.synchronize()
            seconds += time.perf_counter() - started
            done = stop
            samples.append(analysis.sample(simulation))
            frames.keep(simulation.positions)
            if stop == checkpoint_at:
                save_checkpoint(simulation, self.out / "checkpoint.npz")
        copies = memarray.stats()["copies"] - copies
        self.checks["frames_unchanged"] = unchanged = frames.unchanged()
        # From a device each frame is copied to the host once, and nothing is copied back.
        expected = 0 if self.options.device == "cpu" else LOOKED_AT * len(stops)
        self.checks["nothing_copied" if expected == 0 else "copied_for_frames_only"] = copies == expected
        rate = steps / seconds
        _line("speed", f"{rate:,.0f} steps/s, {rate * simulation.particles / 1e6:.2f} million particle steps/s")
        _line(
            "frames kept",
            f"{len(frames)} plain NumPy views, {frames.nbytes / 2**20:.1f} MiB in {frames.places} places: "
            + ("each as it was when kept" if unchanged else "SOME HAVE CHANGED"),
        )
        _line("copies made", f"{copies} (memarray.stats(), over all {steps:,} steps)")
        self.summary |= {
            "steps": steps,
            "steps_per_second": rate,
            "frames": len(frames),
            "frames_bytes": frames.nbytes,
            "copies": copies,
        }
        return frames, samples

    def analyse(self, simulation: Simulation, frames: Frames, samples: list[analysis.Sample]) -> None:
        particles = simulation.particles
        slope, deviation = analysis.energy_drift(samples)
        temperature = np.array([each.temperature for each in samples])
        pressure = np.array([each.pressure for each in samples])
        total = float(np.mean([each.total for each in samples]))
        with simulation.velocities.read(device="cpu") as lease:
            velocities = np.from_dlpack(lease)
            momentum = float(np.abs(velocities.sum(axis=0)).max())
            speeds = np.linalg.norm(velocities, axis=1)
        _line("energy", f"{total / particles:.4f} per particle")
        _line("energy kept", f"drift {slope:+.1e}, largest deviation {deviation:.1e} of the kinetic energy")
        _line("temperature", f"{temperature.mean():.4f} ± {temperature.std():.4f}, pressure {pressure.mean():.3f}")
        _line("momentum", f"{momentum:.1e}")

        distribution = analysis.radial_distribution(frames.some(20), simulation.box)
        radii, g = distribution
        peak = int(np.argmax(g))
        moved = analysis.mean_square_displacement(frames[0], frames[-1])
        _line("g(r)", f"highest, {g[peak]:.2f}, at r = {radii[peak]:.2f} σ")
        _line("diffusion", f"since the first frame a particle has moved {moved**0.5:.2f} σ (root mean square)")
        self.analyse_in_torch(simulation)
        self.summary |= {
            "energy_per_particle": total / particles,
            "energy_drift": slope,
            "energy_spread": deviation,
            "temperature": float(temperature.mean()),
            "pressure": float(pressure.mean()),
            "momentum": momentum,
            "mean_square_displacement": moved,
            "samples": [
                {"step": each.step, "kinetic": each.kinetic, "potential": each.potential, "pressure": each.pressure}
                for each in samples
            ],
            "radial_distribution": {"r": radii.tolist(), "g": g.tolist()},
        }
        self.draw(samples, distribution, frames[-1], speeds, simulation.box)

    def analyse_in_torch(self, simulation: Simulation) -> None:
        if importlib.util.find_spec("torch") is None:
            return
        torch = importlib.import_module("torch")

        with simulation.positions.read(device="cpu") as lease:
            x = torch.from_dlpack(lease)
            y: analysis.Array = np.from_dlpack(lease)
            same_memory = x.data_ptr() == y.__array_interface__["data"][0]
            k = 2.0 * torch.pi / simulation.box * torch.arange(1, 65, dtype=x.dtype)
            phases = torch.outer(k, x[:, 0])
            in_torch = (phases.cos().sum(1) ** 2 + phases.sin().sum(1) ** 2) / len(x)
            agrees = np.allclose(in_torch.numpy(), analysis.structure_factor(y, simulation.box), rtol=1e-8, atol=1e-10)
        self.checks["torch"] = same_memory and agrees
        _line(
            "torch",
            f"{x.data_ptr():#x}: {'the same memory' if same_memory else 'NOT THE SAME MEMORY'}; "
            f"its structure factor {'agrees' if agrees else 'DISAGREES'} with NumPy's",
        )
        self.summary["torch"] = torch.__version__

    def draw(self, samples: Any, distribution: Any, positions: Any, speeds: Any, box: float) -> None:
        try:
            draw(self.out / "picture.png", samples, distribution, positions, speeds, box)
            self.summary["picture"] = "picture.png"
        except ImportError:
            self.summary["picture"] = None

    def restart(self, simulation: Simulation) -> None:
        """Runs the last steps again from the checkpoint, and compares every bit."""
        path = self.out / "checkpoint.npz"
        again = load_checkpoint(path)
        self.to_device(again)
        count = simulation.steps_done - again.steps_done
        again.step(count)
        identical = all(
            np.array_equal(_on_host(getattr(again, name)), _on_host(getattr(simulation, name)))
            for name in ("positions", "velocities")
        )
        self.checks["restart_identical"] = identical
        _line(
            "checkpoint",
            f"{count} steps again from step {simulation.steps_done - count:,}: "
            + ("the same trajectory, bit for bit" if identical else "ANOTHER TRAJECTORY"),
        )
        save_checkpoint(simulation, path)
        self.summary["last_step"] = simulation.steps_done
        self.summary["positions_checksum"] = Frames.checksum(_on_host(simulation.positions))

    def finish(self) -> int:
        missing = [name for name in ("tqdm", "matplotlib") if importlib.util.find_spec(name) is None]
        passed = all(self.checks.values())
        self.summary |= {"checks": self.checks, "passed": passed, "missing": missing}
        (self.out / "summary.json").write_text(json.dumps(self.summary, indent=2) + "\n", encoding="utf-8")
        written = ["summary.json", "checkpoint.npz"] + (["picture.png"] if self.summary["picture"] else [])
        _line("written", f"{self.out}/: {', '.join(written)}")
        if missing:
            lost = {"tqdm": "progress bar", "matplotlib": "picture"}
            without = " and ".join(f"no {lost[name]} ({name} is not installed)" for name in missing)
            _line("missing", f"{without}: pip install 'memarray[demo]'")
        print(f"\ngo on with: python -m memarray demo --out {self.out} --restart {self.out / 'checkpoint.npz'}")
        if not passed:
            print("FAILED: " + ", ".join(name for name, good in self.checks.items() if not good), file=sys.stderr)
        return 0 if passed else 1


def _on_host(array: memarray.MemArray) -> analysis.Array:
    with array.read(device="cpu") as lease:
        return np.from_dlpack(lease)


def _line(what: str, text: str) -> None:
    print(f"  {what:<12} {text}", flush=True)
