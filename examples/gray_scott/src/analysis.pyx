# cython: boundscheck=False, wraparound=False, freethreading_compatible=True
"""Analysis of a run, in loops that hold no GIL."""

from libc.stdint cimport int64_t

from memarray cimport MemArrayDevice, MemArrayViewRef, check, memarray_api, memarray_import, view_from_object

memarray_import()


def count_above(field, double limit):
    """Counts the points of a field that exceed the limit: (rows, columns) float64 of any library, with any strides."""
    cdef MemArrayViewRef view = view_from_object(field)
    cdef MemArrayDevice place
    cdef const char* data
    cdef const int64_t* shape
    cdef const int64_t* strides
    cdef int64_t i, j, count = 0
    try:
        if memarray_api.views.view_ndim(view) != 2 or memarray_api.views.view_dtype(view) != b"float64":
            raise TypeError("count_above wants two dimensions of float64")
        check(memarray_api.views.view_device(view, &place), "counting")
        if place.type != 1:  # the CPU
            raise TypeError("count_above wants a field on the host")
        with nogil:
            data = <const char*>memarray_api.views.view_data(view, 0)
            shape = memarray_api.views.view_shape(view)
            strides = memarray_api.views.view_strides(view)
            for i in range(shape[0]):
                for j in range(shape[1]):
                    count += (<const double*>(data + i * strides[0] + j * strides[1]))[0] > limit
    finally:
        memarray_api.views.release_view(view)
    return count
