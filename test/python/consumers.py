"""Consumers of the memory of a lease, for several test files."""

import numpy as np
import pytest


def by_torch(lease):
    return pytest.importorskip("torch", reason="PyTorch is not installed").from_dlpack(lease)


def by_jax(lease):
    return pytest.importorskip("jax", reason="JAX is not installed").dlpack.from_dlpack(lease)


class Interface:
    """A consumer that knows only the array interface."""

    def __init__(self, lease):
        self.lease = lease
        self.__array_interface__ = lease.__array_interface__


class Jax:
    """A JAX array whose np.asarray is fresh: JAX itself may return an earlier result."""

    def __init__(self, lease):
        self.array = by_jax(lease)

    def __array__(self, dtype=None, copy=None):
        return np.from_dlpack(self.array)


#: Consumers whose views outlive the lease, as objects that np.asarray reads.
CONSUMERS = {
    "np.from_dlpack": np.from_dlpack,
    "np.asarray": np.asarray,
    "slice": lambda lease: np.from_dlpack(lease)[1:4, ::2],
    "transposed": lambda lease: np.from_dlpack(lease).T,
    "memoryview": memoryview,
    "memoryview slice": lambda lease: memoryview(lease)[2:],
    "view": lambda lease: lease.view(),
    "view slice": lambda lease: lease.view()[1:],
    "view exported": lambda lease: np.asarray(lease.view()),
    "array interface": lambda lease: np.asarray(Interface(lease)),
    "torch": by_torch,
    "torch slice": lambda lease: by_torch(lease)[1:, ::2],
    "torch exported": lambda lease: np.from_dlpack(by_torch(lease)),
    "JAX": Jax,
}
#: Consumers that a read lease refuses: they need the unversioned struct, which has no read-only flag.
WRITERS_ONLY = {"JAX"}
#: Consumers that never write.
READERS_ONLY = {"JAX"}
