"""Values for systematic and random tests: for each dtype, the values at which conversions go wrong."""

import numpy as np


def numpy_dtype(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def edges(name, *, huge=True, infinite=True):
    """Returns the edge values of a dtype, 1-d: its limits, -1, 0, 1, ±inf, NaN, -0.0, subnormals.

    ``huge=False`` leaves out the largest floats, ``infinite=False`` the infinities: their sums depend on the order.
    """
    dtype = numpy_dtype(name)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = [limits.min, limits.min + 1, limits.max, limits.max - 1, limits.max // 2 + 1, 0, 1, 5]
        return np.array(values + ([-1, -5] if limits.min < 0 else []), dtype)
    if dtype.kind == "c":
        parts = edges(f"float{dtype.itemsize * 4}", huge=huge, infinite=infinite)
        real, imaginary = (part.ravel() for part in np.meshgrid(parts, parts))
        values = np.empty(real.shape, dtype)
        values.real, values.imag = real, imaginary
        return values
    limits = _float_limits(name)
    values = [0.0, -0.0, 1.0, -1.0, 2.5, -5.0, np.nan]
    values += [sign * small for sign in (1, -1) for small in (limits.tiny, limits.smallest_subnormal)]
    values += [sign * float(limits.max) for sign in (1, -1) if huge]
    values += [sign * np.inf for sign in (1, -1) if infinite]
    return np.array(values, "f8").astype(dtype)


def edge_rows(name, columns):
    """Returns all edge values of a dtype in at least three rows, repeated to fill them."""
    values = edges(name)
    return np.resize(values, (max(3, -(-values.size // columns)), columns))


def drawn(rng, shape, name, *, huge=True, infinite=True):
    """Returns an array of small numbers with some edge values."""
    dtype = numpy_dtype(name)
    # Sums of thousands of float16 must stay far below its largest value, 65504, in any order.
    top = 2 if dtype.kind == "b" else 20 if name == "float16" and not huge else 100
    values = np.asarray(rng.integers(0 if dtype.kind in "bu" else -top, top, shape)).astype(dtype)
    at_edges = np.asarray(rng.random(shape) < rng.choice([0, 0.05, 0.5]))
    values[at_edges] = rng.choice(edges(name, huge=huge, infinite=infinite), int(at_edges.sum()))
    return values


def assert_same_values(got, expected, message=""):
    """Asserts one dtype, one shape and equal elements; NaN equals NaN, and -0.0 equals only -0.0."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), message
    if expected.dtype.kind == "c":
        assert_same_values(got.real, expected.real, message)
        assert_same_values(got.imag, expected.imag, message)
        return
    if expected.dtype.kind not in "biu":
        # Widen the floats that NumPy's helpers do not recognise as floats.
        got, expected = (x.astype("f8") for x in (got, expected))
    np.testing.assert_array_equal(got, expected, str(message))
    if expected.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]), str(message))


def _float_limits(name):
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo("bfloat16")
    return np.finfo(name)
