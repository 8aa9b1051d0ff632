"""add_index_tuple as numba loops; compiled on first use, so only rows that need them import this."""

import numpy as np
from numba import njit, prange

parallel = njit(parallel=True, fastmath=True, nogil=True)


@parallel
def nested_3d(x):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                x[i, j, k] += i + j + k


@parallel
def rows_3d(x):
    n1 = x.shape[1]
    for row in prange(x.shape[0] * n1):
        line = x[row // n1, row % n1]
        first = np.int32(row // n1 + row % n1)
        for k in range(np.int32(x.shape[2])):
            line[k] += np.float32(np.int32(first + np.int32(k)))


@parallel
def nested_2d(x):
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] += i + j


@parallel
def flat_2d(x):
    flat = x.reshape(-1)
    columns = x.shape[1]
    for linear in prange(flat.size):
        flat[linear] += linear // columns + linear % columns


@parallel
def unrolled_2d(x):
    for i in prange(x.shape[0]):
        first = np.float64(i)
        x[i, 0] += first
        x[i, 1] += first + 1.0
        x[i, 2] += first + 2.0


@parallel
def simple_1d(x):
    for i in prange(x.size):
        x[i] += i


@parallel
def blocks_1d(x):
    block = 1 << 14
    for b in prange((x.size + block - 1) // block):
        begin = b * block
        for i in range(np.int32(min(block, x.size - begin))):
            x[begin + i] += np.float32(np.int32(begin + i))


WAYS = {
    3: {"nested loops": nested_3d, "rows with int32 indices": rows_3d},
    2: {"nested loops": nested_2d, "one flat loop": flat_2d, "columns written out": unrolled_2d},
    1: {"one loop": simple_1d, "blocks with int32 indices": blocks_1d},
}
