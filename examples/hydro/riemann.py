"""The exact solution of a shock tube (E. F. Toro, "Riemann Solvers and Numerical Methods", chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GAMMA = 1.4


@dataclass(frozen=True)
class Gas:
    density: float
    velocity: float
    pressure: float

    @property
    def sound_speed(self) -> float:
        return np.sqrt(GAMMA * self.pressure / self.density)

    def change_of_velocity(self, pressure: float) -> float:
        """Returns the change of velocity by a wave to this pressure: a shock or a rarefaction."""
        if pressure > self.pressure:
            a = 2 / ((GAMMA + 1) * self.density)
            return (pressure - self.pressure) * np.sqrt(a / (pressure + (GAMMA - 1) / (GAMMA + 1) * self.pressure))
        ratio = (pressure / self.pressure) ** ((GAMMA - 1) / (2 * GAMMA))
        return 2 * self.sound_speed / (GAMMA - 1) * (ratio - 1)


def between_waves(left: Gas, right: Gas) -> tuple[float, float]:
    """Returns pressure and velocity between the two outer waves, by bisection."""
    low, high = 0.0, 100 * max(left.pressure, right.pressure)
    for _ in range(200):
        pressure = (low + high) / 2
        excess = left.change_of_velocity(pressure) + right.change_of_velocity(pressure) + right.velocity - left.velocity
        low, high = (low, pressure) if excess > 0 else (pressure, high)
    return pressure, left.velocity - left.change_of_velocity(pressure)


def behind_wave(gas: Gas, pressure: float, velocity: float, speed: np.ndarray) -> np.ndarray:
    """Returns (density, velocity, pressure) at points x/t = speed left of the contact; `gas` is on the left."""
    sound, ratio = gas.sound_speed, pressure / gas.pressure
    mu = (GAMMA - 1) / (GAMMA + 1)
    outside = np.broadcast_to([gas.density, gas.velocity, gas.pressure], (speed.size, 3))
    if pressure > gas.pressure:
        shock = gas.velocity - sound * np.sqrt((GAMMA + 1) / (2 * GAMMA) * ratio + (GAMMA - 1) / (2 * GAMMA))
        inside = np.array([gas.density * (ratio + mu) / (mu * ratio + 1), velocity, pressure])
        return np.where((speed < shock)[:, None], outside, inside)
    head, tail = gas.velocity - sound, velocity - sound * ratio ** ((GAMMA - 1) / (2 * GAMMA))
    factor = np.maximum(2 / (GAMMA + 1) + mu / sound * (gas.velocity - speed), 1e-12)
    fan_velocity = 2 / (GAMMA + 1) * (sound + (GAMMA - 1) / 2 * gas.velocity + speed)
    fan = np.stack(
        [
            gas.density * factor ** (2 / (GAMMA - 1)),
            fan_velocity,
            gas.pressure * factor ** (2 * GAMMA / (GAMMA - 1)),
        ],
        axis=1,
    )
    inside = np.array([gas.density * ratio ** (1 / GAMMA), velocity, pressure])
    return np.where((speed < head)[:, None], outside, np.where((speed < tail)[:, None], fan, inside))


def solution(left: Gas, right: Gas, speed: np.ndarray) -> np.ndarray:
    """Returns (density, velocity, pressure) at the points x/t = speed, for a membrane at x = 0 that breaks at t = 0."""
    pressure, velocity = between_waves(left, right)
    mirrored = Gas(right.density, -right.velocity, right.pressure)
    of_left = behind_wave(left, pressure, velocity, speed)
    of_right = behind_wave(mirrored, pressure, -velocity, -speed) * [1, -1, 1]
    return np.where((speed < velocity)[:, None], of_left, of_right)
