# What a function with typed memoryviews takes of an array, and gives back. Compiled by exchange_libraries.py.
# cython: language_level=3


def writable_1d(float[:] array):
    return array


def writable_2d(float[:, :] array):
    return array


def read_only_1d(const float[:] array):
    return array


def read_only_2d(const float[:, :] array):
    return array
