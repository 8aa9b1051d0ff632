# memarray's C API for Cython: `cimport memarray`, or `from memarray cimport memarray_api, memarray_import, ...`.
#
# The headers document each function and the owners of its arguments and results: <memarray/interop/c_api.h>,
# c_arrays.h, c_views.h, py_resource.h. `python -m memarray --includedir` prints their folder. A module calls
# `memarray_import()` once before it uses `memarray_api`. Functions that may be called without the GIL are declared
# `nogil`; the others raise by themselves.

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t, uint64_t


cdef extern from "<memarray/interop/c_api.h>" nogil:
    enum:
        MEMARRAY_C_API_MAJOR
        MEMARRAY_C_API_MINOR

    enum MemArrayErrorCode:
        MEMARRAY_ERROR
        MEMARRAY_LOCK_ERROR
        MEMARRAY_UNSUPPORTED_TYPE_ERROR
        MEMARRAY_VALUE_ERROR
        MEMARRAY_TYPE_ERROR
        MEMARRAY_BUFFER_ERROR
        MEMARRAY_INDEX_ERROR
        MEMARRAY_OVERFLOW_ERROR
        MEMARRAY_INTERRUPTED

    struct MemArrayContext:
        pass
    ctypedef MemArrayContext* MemArrayContextRef
    struct MemArrayStream:
        pass
    ctypedef MemArrayStream* MemArrayStreamRef
    struct MemArrayEvent:
        pass
    ctypedef MemArrayEvent* MemArrayEventRef
    struct MemArrayMemoryPool:
        pass
    ctypedef MemArrayMemoryPool* MemArrayMemoryPoolRef
    struct MemArrayDevicePtr:
        pass
    ctypedef MemArrayDevicePtr* MemArrayDevicePtrRef
    struct MemArrayArray:
        pass
    ctypedef MemArrayArray* MemArrayArrayRef
    struct MemArrayLease:
        pass
    ctypedef MemArrayLease* MemArrayLeaseRef
    struct MemArrayView:
        pass
    ctypedef MemArrayView* MemArrayViewRef

    ctypedef struct MemArrayDevice:
        int32_t type
        int32_t id

    ctypedef struct MemArrayMemoryPoolStatistics:
        uint64_t reserved
        uint64_t reserved_high
        uint64_t used
        uint64_t used_high

    ctypedef struct MemArrayResource:
        void (*close_func)(void* data) noexcept nogil
        void* data

    ctypedef void (*MemArrayDrop)(void* owner) noexcept nogil


cdef extern from "<memarray/interop/c_arrays.h>":
    ctypedef struct MemArrayArrayAPI:
        size_t size
        MemArrayArrayRef (*create_array)(const char* dtype, int ndim, const int64_t* shape, int device_id, int uninitialized) noexcept nogil
        MemArrayArrayRef (*array_from_object)(void* object) except NULL
        void* (*array_to_object)(MemArrayArrayRef array) except NULL
        MemArrayArrayRef (*adopt_view)(MemArrayViewRef view) noexcept nogil
        MemArrayArrayRef (*copy_array)(MemArrayArrayRef array) noexcept nogil
        MemArrayArrayRef (*retain_array)(MemArrayArrayRef array) noexcept nogil
        void (*release_array)(MemArrayArrayRef array) noexcept nogil
        const char* (*array_dtype)(MemArrayArrayRef array) noexcept nogil
        size_t (*array_itemsize)(MemArrayArrayRef array) noexcept nogil
        int (*array_ndim)(MemArrayArrayRef array) noexcept nogil
        int (*array_shape)(MemArrayArrayRef array, int64_t* shape) noexcept nogil
        int64_t (*array_size)(MemArrayArrayRef array) noexcept nogil
        int (*array_device)(MemArrayArrayRef array, MemArrayDevice* device) noexcept nogil
        int64_t (*array_lock_id)(MemArrayArrayRef array) noexcept nogil
        int (*fill_array)(MemArrayArrayRef array, const void* element, int64_t lock_id) noexcept nogil
        int (*resize_array)(MemArrayArrayRef array, const int64_t* shape) noexcept nogil
        int (*move_memory)(MemArrayArrayRef array, MemArrayDevice device, MemArrayStreamRef stream, int run_async) noexcept nogil
        MemArrayLeaseRef (*read_array)(MemArrayArrayRef array, double timeout, const MemArrayDevice* device, MemArrayStreamRef stream) noexcept nogil
        MemArrayLeaseRef (*write_array)(MemArrayArrayRef array, double timeout, const MemArrayDevice* device, MemArrayStreamRef stream, int discard) noexcept nogil
        MemArrayLeaseRef (*retain_lease)(MemArrayLeaseRef lease) noexcept nogil
        void (*release_lease)(MemArrayLeaseRef lease) noexcept nogil
        void (*close_lease)(MemArrayLeaseRef lease) noexcept nogil
        int (*lease_is_open)(MemArrayLeaseRef lease) noexcept nogil
        int64_t (*lease_lock_id)(MemArrayLeaseRef lease) noexcept nogil
        void* (*lease_data)(MemArrayLeaseRef lease, int writable) noexcept nogil
        MemArrayViewRef (*lease_view)(MemArrayLeaseRef lease) noexcept nogil
        MemArrayViewRef (*array_view)(MemArrayArrayRef array) noexcept nogil


cdef extern from "<memarray/interop/c_views.h>":
    ctypedef struct MemArrayViewAPI:
        size_t size
        MemArrayViewRef (*view_from_object)(void* object) except NULL
        void* (*view_to_object)(MemArrayViewRef view) except NULL
        MemArrayViewRef (*create_view)(const char* dtype, int ndim, const int64_t* shape) noexcept nogil
        MemArrayViewRef (*retain_view)(MemArrayViewRef view) noexcept nogil
        void (*release_view)(MemArrayViewRef view) noexcept nogil
        const char* (*view_dtype)(MemArrayViewRef view) noexcept nogil
        size_t (*view_itemsize)(MemArrayViewRef view) noexcept nogil
        int (*view_ndim)(MemArrayViewRef view) noexcept nogil
        const int64_t* (*view_shape)(MemArrayViewRef view) noexcept nogil
        const int64_t* (*view_strides)(MemArrayViewRef view) noexcept nogil
        int64_t (*view_size)(MemArrayViewRef view) noexcept nogil
        int (*view_device)(MemArrayViewRef view, MemArrayDevice* device) noexcept nogil
        int (*view_is_writable)(MemArrayViewRef view) noexcept nogil
        int (*view_is_contiguous)(MemArrayViewRef view) noexcept nogil
        void* (*view_data)(MemArrayViewRef view, int writable) noexcept nogil
        MemArrayViewRef (*slice_view)(MemArrayViewRef view, int dimension, int64_t start, int64_t stop, int64_t step) noexcept nogil
        MemArrayViewRef (*select_view)(MemArrayViewRef view, int dimension, int64_t index) noexcept nogil
        MemArrayViewRef (*transpose_view)(MemArrayViewRef view, const int* axes) noexcept nogil
        MemArrayViewRef (*reshape_view)(MemArrayViewRef view, int ndim, const int64_t* shape) noexcept nogil
        MemArrayViewRef (*broadcast_view)(MemArrayViewRef view, int ndim, const int64_t* shape) noexcept nogil
        MemArrayViewRef (*copy_view)(MemArrayViewRef view) noexcept nogil
        MemArrayViewRef (*contiguous_view)(MemArrayViewRef view) noexcept nogil
        MemArrayViewRef (*cast_view)(MemArrayViewRef view, const char* dtype) noexcept nogil
        MemArrayViewRef (*view_to_device)(MemArrayViewRef view, MemArrayDevice device, MemArrayStreamRef stream) noexcept nogil
        MemArrayViewRef (*sum_view)(MemArrayViewRef view, int count, const int* axes) noexcept nogil
        MemArrayViewRef (*mean_view)(MemArrayViewRef view, int count, const int* axes) noexcept nogil
        MemArrayViewRef (*min_view)(MemArrayViewRef view, int count, const int* axes) noexcept nogil
        MemArrayViewRef (*max_view)(MemArrayViewRef view, int count, const int* axes) noexcept nogil
        int (*fill_view)(MemArrayViewRef view, const void* element) noexcept nogil
        int (*read_element)(MemArrayViewRef view, void* element) noexcept nogil


cdef extern from "<memarray/interop/c_api.h>":
    ctypedef struct MemArrayAPI:
        uint32_t major
        uint32_t minor
        size_t size
        const char* (*version)() noexcept nogil
        int (*device_count)() noexcept nogil
        int (*is_simulated)() noexcept nogil
        int (*get_last_error)() noexcept nogil
        int (*peek_last_error)() noexcept nogil
        void (*clear_last_error)() noexcept nogil
        size_t (*describe_error)(int code, const char* what, char* buffer, size_t size) noexcept nogil
        int (*raise_last_error)(const char* what) except -1
        void (*drop_object)(void* object) noexcept nogil
        MemArrayContextRef (*get_primary_context)(int device_id) noexcept nogil
        MemArrayContextRef (*get_current_context)() noexcept nogil
        MemArrayContextRef (*create_context)(int device_id, unsigned flags) noexcept nogil
        MemArrayContextRef (*create_context_ref)(intptr_t context) noexcept nogil
        MemArrayContextRef (*create_context_with_owner)(intptr_t context, void* owner, MemArrayDrop drop) noexcept nogil
        MemArrayContextRef (*retain_context)(MemArrayContextRef context) noexcept nogil
        void (*release_context)(MemArrayContextRef context) noexcept nogil
        intptr_t (*context_as_intptr)(MemArrayContextRef context) noexcept nogil
        int (*context_device_id)(MemArrayContextRef context) noexcept nogil
        MemArrayStreamRef (*get_default_stream)() noexcept nogil
        MemArrayStreamRef (*get_legacy_stream)() noexcept nogil
        MemArrayStreamRef (*get_per_thread_stream)() noexcept nogil
        MemArrayStreamRef (*create_stream)(MemArrayContextRef context, int nonblocking, int priority) noexcept nogil
        MemArrayStreamRef (*create_stream_ref)(intptr_t stream, MemArrayContextRef context) noexcept nogil
        MemArrayStreamRef (*create_stream_with_owner)(intptr_t stream, void* owner, MemArrayDrop drop, MemArrayContextRef context) noexcept nogil
        MemArrayStreamRef (*retain_stream)(MemArrayStreamRef stream) noexcept nogil
        void (*release_stream)(MemArrayStreamRef stream) noexcept nogil
        intptr_t (*stream_as_intptr)(MemArrayStreamRef stream) noexcept nogil
        MemArrayContextRef (*stream_context)(MemArrayStreamRef stream) noexcept nogil
        int (*synchronize_stream)(MemArrayStreamRef stream, MemArrayContextRef context) noexcept nogil
        int (*synchronize_all)() noexcept nogil
        MemArrayEventRef (*create_event)(MemArrayContextRef context, int timing) noexcept nogil
        MemArrayEventRef (*create_event_ref)(intptr_t event, MemArrayContextRef context) noexcept nogil
        MemArrayEventRef (*create_event_with_owner)(intptr_t event, void* owner, MemArrayDrop drop, MemArrayContextRef context) noexcept nogil
        MemArrayEventRef (*retain_event)(MemArrayEventRef event) noexcept nogil
        void (*release_event)(MemArrayEventRef event) noexcept nogil
        intptr_t (*event_as_intptr)(MemArrayEventRef event) noexcept nogil
        MemArrayContextRef (*event_context)(MemArrayEventRef event) noexcept nogil
        int (*record_event)(MemArrayEventRef event, MemArrayStreamRef stream) noexcept nogil
        int (*wait_event)(MemArrayStreamRef stream, MemArrayEventRef event) noexcept nogil
        int (*synchronize_event)(MemArrayEventRef event) noexcept nogil
        int (*query_event)(MemArrayEventRef event) noexcept nogil
        int (*elapsed)(MemArrayEventRef start, MemArrayEventRef end, double* seconds) noexcept nogil
        MemArrayMemoryPoolRef (*create_memory_pool)(int device_id, uint64_t release_threshold, size_t max_size) noexcept nogil
        MemArrayMemoryPoolRef (*get_device_memory_pool)(int device_id) noexcept nogil
        MemArrayMemoryPoolRef (*create_memory_pool_ref)(intptr_t pool, int device_id) noexcept nogil
        MemArrayMemoryPoolRef (*create_memory_pool_with_owner)(intptr_t pool, void* owner, MemArrayDrop drop, int device_id) noexcept nogil
        MemArrayMemoryPoolRef (*retain_memory_pool)(MemArrayMemoryPoolRef pool) noexcept nogil
        void (*release_memory_pool)(MemArrayMemoryPoolRef pool) noexcept nogil
        intptr_t (*memory_pool_as_intptr)(MemArrayMemoryPoolRef pool) noexcept nogil
        MemArrayContextRef (*memory_pool_context)(MemArrayMemoryPoolRef pool) noexcept nogil
        int (*get_memory_pool_statistics)(MemArrayMemoryPoolRef pool, MemArrayMemoryPoolStatistics* statistics) noexcept nogil
        int (*set_release_threshold)(MemArrayMemoryPoolRef pool, uint64_t bytes) noexcept nogil
        int (*trim_memory_pool)(MemArrayMemoryPoolRef pool, size_t bytes_to_keep) noexcept nogil
        MemArrayDevicePtrRef (*allocate_from_pool)(MemArrayMemoryPoolRef pool, MemArrayStreamRef stream, size_t bytes) noexcept nogil
        MemArrayDevicePtrRef (*allocate_device)(MemArrayContextRef context, size_t bytes) noexcept nogil
        MemArrayDevicePtrRef (*allocate_managed)(MemArrayContextRef context, size_t bytes) noexcept nogil
        MemArrayDevicePtrRef (*allocate_pinned)(MemArrayContextRef context, size_t bytes) noexcept nogil
        MemArrayDevicePtrRef (*create_device_ptr_ref)(intptr_t pointer) noexcept nogil
        MemArrayDevicePtrRef (*create_device_ptr_with_owner)(intptr_t pointer, void* owner, MemArrayDrop drop) noexcept nogil
        MemArrayDevicePtrRef (*retain_device_ptr)(MemArrayDevicePtrRef pointer) noexcept nogil
        void (*release_device_ptr)(MemArrayDevicePtrRef pointer) noexcept nogil
        intptr_t (*device_ptr_as_intptr)(MemArrayDevicePtrRef pointer) noexcept nogil
        MemArrayStreamRef (*deallocation_stream)(MemArrayDevicePtrRef pointer) noexcept nogil
        int (*set_deallocation_stream)(MemArrayDevicePtrRef pointer, MemArrayStreamRef stream) noexcept nogil
        int (*free_after)(MemArrayDevicePtrRef pointer, MemArrayEventRef event) noexcept nogil
        void (*hold_object)(void* object, const char* what, MemArrayResource* resource) noexcept
        void* (*array_as_pointer)(void* object, int writable, MemArrayResource* resource) except NULL
        void* (*view_as_pointer)(void* object, int writable, MemArrayResource* resource) except NULL
        const MemArrayArrayAPI* arrays
        const MemArrayViewAPI* views

    const MemArrayAPI* memarray_api
    int memarray_import() except -1


cdef extern from "<memarray/interop/py_resource.h>":
    ctypedef MemArrayResource PyResource
    void PyResource_Close(PyResource* res) noexcept nogil
    const char* PyBytes_AsStringRes(object op, PyResource* res) except NULL
    char* PyByteArray_AsStringRes(object self, PyResource* res) except NULL
    # NULL without an exception for a capsule without a name.
    const char* PyCapsule_GetNameRes(object capsule, PyResource* res) except? NULL
    const char* PyEval_GetFuncNameRes(object func, PyResource* res) except NULL
    const char* PyUnicode_AsUTF8AndSizeRes(object unicode, Py_ssize_t* psize, PyResource* res) except NULL
    const char* PyUnicode_AsUTF8Res(object unicode, PyResource* res) except NULL
    void* MemArray_AsPointerRes(object obj, int writable, PyResource* res) except NULL
    void* BufferView_AsPointerRes(object obj, int writable, PyResource* res) except NULL


# Refs of Python objects and Python objects of refs; they raise.

cdef inline MemArrayArrayRef array_from_object(object array) except NULL:
    return memarray_api.arrays.array_from_object(<void*><PyObject*>array)


cdef inline object array_to_object(MemArrayArrayRef array):
    cdef object result = <object>memarray_api.arrays.array_to_object(array)
    Py_DECREF(result)  # it came with a reference
    return result


cdef inline MemArrayViewRef view_from_object(object source) except NULL:
    return memarray_api.views.view_from_object(<void*><PyObject*>source)


cdef inline object view_to_object(MemArrayViewRef view):
    cdef object result = <object>memarray_api.views.view_to_object(view)
    Py_DECREF(result)
    return result


# For what comes back from a function without the GIL; takes it where it must raise.

cdef inline int check(int status, const char* what) except -1 nogil:
    if status == -1:
        with gil:
            memarray_api.raise_last_error(what)
    return status


cdef inline int check_ref(const void* ref, const char* what) except -1 nogil:
    if ref == NULL:
        with gil:
            memarray_api.raise_last_error(what)
    return 0
