# Functions that take contiguous memory alone. Compiled by exchange_libraries.py.
# cython: language_level=3


def rows_1d(const short[::1] array):
    return array


def rows_2d(const short[:, ::1] array):
    return array


def columns_2d(const short[::1, :] array):
    return array


def rows_3d(const short[:, :, ::1] array):
    return array


def columns_3d(const short[::1, :, :] array):
    return array
