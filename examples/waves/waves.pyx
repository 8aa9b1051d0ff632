# cython: boundscheck=False, wraparound=False, cdivision=True
"""A wave on a string: C loops without the GIL over memory that Python sees."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from memarray cimport (
    MEMARRAY_LOCK_ERROR,
    BufferView_AsPointerRes,
    MemArrayArrayRef,
    MemArrayContextRef,
    MemArrayDevice,
    MemArrayEventRef,
    MemArrayLeaseRef,
    MemArrayStreamRef,
    MemArrayViewRef,
    PyResource,
    PyResource_Close,
    PyUnicode_AsUTF8AndSizeRes,
    array_from_object,
    array_to_object,
    check,
    check_ref,
    memarray_api,
    memarray_import,
    view_from_object,
    view_to_object,
)

memarray_import()


cdef class Wave:
    """A wave that owns its heights; `heights` shows them to Python without a copy."""

    cdef MemArrayArrayRef now
    cdef MemArrayArrayRef before
    cdef int64_t length

    def __cinit__(self, int64_t length):
        self.length = length
        self.now = memarray_api.arrays.create_array("float64", 1, &length, 0, 0)
        check_ref(self.now, "making a wave")
        self.before = memarray_api.arrays.create_array("float64", 1, &length, 0, 0)
        check_ref(self.before, "making a wave")

    def __dealloc__(self):
        memarray_api.arrays.release_array(self.now)
        memarray_api.arrays.release_array(self.before)

    @property
    def heights(self):
        return array_to_object(self.now)

    def pluck(self, int64_t at, double height):
        cdef MemArrayLeaseRef lease
        with nogil:
            lease = memarray_api.arrays.write_array(self.now, 0, NULL, NULL, 0)
            check_ref(lease, "plucking")
            (<double*>memarray_api.arrays.lease_data(lease, 1))[at] = height
            memarray_api.arrays.release_lease(lease)

    def step(self, int steps, double speed=0.25, double timeout=0):
        """Runs steps under write leases of both arrays; returns their number. LockError if Python holds a lease."""
        cdef MemArrayLeaseRef now = NULL
        cdef MemArrayLeaseRef before = NULL
        with nogil:
            now = memarray_api.arrays.write_array(self.now, timeout, NULL, NULL, 0)
            if now != NULL:
                before = memarray_api.arrays.write_array(self.before, timeout, NULL, NULL, 0)
            if before != NULL:
                for _ in range(steps):
                    advance(
                        <double*>memarray_api.arrays.lease_data(now, 1),
                        <double*>memarray_api.arrays.lease_data(before, 1),
                        self.length,
                        speed,
                    )
            memarray_api.arrays.release_lease(before)
            memarray_api.arrays.release_lease(now)
            check_ref(before, "stepping")
        return steps


cdef void advance(double* now, double* before, int64_t length, double speed) noexcept nogil:
    cdef int64_t i
    cdef double next_height
    for i in range(1, length - 1):
        next_height = 2 * now[i] - before[i] + speed * (now[i + 1] - 2 * now[i] + now[i - 1])
        before[i] = next_height
    for i in range(1, length - 1):
        now[i], before[i] = before[i], now[i]


def try_to_fill(array, double value):
    """Fills an array without the GIL. Returns False if a lease holds it."""
    cdef MemArrayArrayRef ref = array_from_object(array)
    cdef int status, code = 0
    with nogil:
        status = memarray_api.arrays.fill_array(ref, &value, -1)
        if status != 0 and memarray_api.peek_last_error() == MEMARRAY_LOCK_ERROR:
            memarray_api.clear_last_error()
            code = MEMARRAY_LOCK_ERROR
        memarray_api.arrays.release_array(ref)
        if code == 0:
            check(status, "filling")
    return status == 0


def energy(source):
    """Returns the sum of squares of any library's float64 memory with up to two dimensions, without the GIL."""
    cdef MemArrayViewRef view = view_from_object(source)
    cdef MemArrayViewRef cut = NULL
    cdef MemArrayDevice place
    cdef const char* data = NULL
    cdef const int64_t* shape
    cdef const int64_t* strides
    cdef double total = 0
    cdef double element
    cdef int64_t i, j
    try:
        if memarray_api.views.view_ndim(view) == 1:
            with nogil:
                cut = memarray_api.views.reshape_view(view, 2, [1, -1])
            memarray_api.views.release_view(view)
            view = cut
            check_ref(view, "looking at a row")
        if memarray_api.views.view_ndim(view) != 2 or memarray_api.views.view_dtype(view) != b"float64":
            raise TypeError("one or two dimensions of float64 are wanted")
        check(memarray_api.views.view_device(view, &place), "looking at the energy")
        if place.type != 1:  # the CPU
            raise TypeError("memory on the host is wanted")
        with nogil:
            data = <const char*>memarray_api.views.view_data(view, 0)
            shape = memarray_api.views.view_shape(view)
            strides = memarray_api.views.view_strides(view)
            for i in range(shape[0]):
                for j in range(shape[1]):
                    element = (<const double*>(data + i * strides[0] + j * strides[1]))[0]
                    total += element * element
    finally:
        memarray_api.views.release_view(view)
    return total


def means(source, int axis):
    """Returns the means along an axis, as a new memarray.BufferView."""
    cdef MemArrayViewRef view = view_from_object(source)
    cdef MemArrayViewRef result
    with nogil:
        result = memarray_api.views.mean_view(view, 1, &axis)
        memarray_api.views.release_view(view)
        check_ref(result, "averaging")
    try:
        return view_to_object(result)
    finally:
        memarray_api.views.release_view(result)


cdef struct Filling:
    MemArrayArrayRef array
    MemArrayStreamRef stream
    MemArrayEventRef event
    MemArrayLeaseRef lease
    MemArrayViewRef view


cdef int start_fill(Filling* filling, MemArrayContextRef context, MemArrayDevice device, double value) noexcept nogil:
    """Fills in a stream of its own, then records the event. Returns 0, or -1 with the last error set."""
    filling.stream = memarray_api.create_stream(context, 1, 0)
    filling.event = memarray_api.create_event(context, 0)
    if filling.stream == NULL or filling.event == NULL:
        return -1
    filling.lease = memarray_api.arrays.write_array(filling.array, 0, &device, filling.stream, 1)
    if filling.lease == NULL:
        return -1
    # Operations on the view are work in the lease's stream.
    filling.view = memarray_api.arrays.lease_view(filling.lease)
    if filling.view == NULL or memarray_api.views.fill_view(filling.view, &value) != 0:
        return -1
    return memarray_api.record_event(filling.event, filling.stream)


def fill_on_device(arrays, int device_id, double value):
    """Fills arrays on a device, each in a stream of its own, and waits for all; without the GIL."""
    cdef int64_t i, size = len(arrays)
    cdef Filling* fillings = <Filling*>calloc(size + 1, sizeof(Filling))  # all NULL, which may be released
    cdef MemArrayContextRef context = NULL
    cdef MemArrayDevice device
    cdef int status
    device.type, device.id = 2, device_id
    if fillings == NULL:
        raise MemoryError()
    try:
        for i in range(size):
            fillings[i].array = array_from_object(arrays[i])
        with nogil:
            context = memarray_api.get_primary_context(device_id)
            status = 0 if context != NULL else -1
            for i in range(size):
                if status == 0:
                    status = start_fill(&fillings[i], context, device, value)
            # All fills are submitted.
            for i in range(size):
                if status == 0:
                    status = memarray_api.synchronize_event(fillings[i].event)
            check(status, "filling on a device")
    finally:
        for i in range(size):
            memarray_api.views.release_view(fillings[i].view)
            memarray_api.arrays.release_lease(fillings[i].lease)
            memarray_api.release_event(fillings[i].event)
            memarray_api.release_stream(fillings[i].stream)
            memarray_api.arrays.release_array(fillings[i].array)
        memarray_api.release_context(context)
        free(fillings)


def count(text, source, double limit):
    """Returns the text and the number of elements above the limit. Both pointers stay valid while other code runs."""
    cdef PyResource words, numbers
    cdef Py_ssize_t length = 0
    cdef int64_t i, size, found = 0
    cdef double* data
    cdef const char* utf8 = PyUnicode_AsUTF8AndSizeRes(text, &length, &words)
    try:
        data = <double*>BufferView_AsPointerRes(source, 0, &numbers)
        size = source.size
        del text, source
        with nogil:
            for i in range(size):
                found += data[i] > limit
            PyResource_Close(&numbers)
        return utf8[:length].decode() + f": {found}"
    finally:
        PyResource_Close(&words)
