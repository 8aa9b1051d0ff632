# Functions with typed memoryviews that take and return arrays. Compiled by exchange_libraries.py.
# cython: language_level=3

ctypedef fused T:
    signed char
    short
    int
    long
    unsigned char
    unsigned short
    unsigned int
    unsigned long
    float
    double
    float complex
    double complex


def writable_1d(T[:] array):
    return array


def writable_2d(T[:, :] array):
    return array


def read_only_1d(const T[:] array):
    return array


def read_only_2d(const T[:, :] array):
    return array
