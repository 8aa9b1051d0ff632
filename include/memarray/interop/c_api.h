/// The C API of memarray, for code that does not link it: C, Cython, ctypes, or C++ of another compiler. Needs no other
/// header; C11 and C++. The functions are entries of one table, `memarray_api`. It works on the core of
/// `import memarray`: its driver, its last errors, its counters.
///
///     #include <Python.h>  // first, for memarray_import
///     #include <memarray/c_api.h>
///
///     PyMODINIT_FUNC PyInit_mine(void) {
///       if (memarray_import() != 0) return NULL;
///       ...
///
/// - **Refs** are counted, on any thread. `__memarray_give`: the caller receives a reference to release, or a resource
///   to close. `__memarray_keep`: the callee borrows the reference during the call. `__memarray_take`: the callee takes
///   the reference over, even if the call fails. A ref keeps alive the resources that its own depends on: a stream its
///   context, memory its pool.
/// - `retain_…` adds a reference and returns the same pointer, NULL for NULL. `release_…` ignores NULL and reports no
///   failed work: synchronize before to learn of it. `…_as_intptr` returns the raw resource, valid as long as the ref;
///   0 for NULL. None of these can fail.
/// - **Failure** is NULL, or −1 where an integer is returned, and a code in the calling thread's last error. An int is
///   0 on success unless the comment says otherwise. The code is a `CUresult` (400: a ref is NULL and may not be; 500:
///   the requested resource does not exist; 2: out of memory) or a `MemArrayErrorCode`, below 0. Success leaves the
///   last error unchanged. Only functions whose comment says "With the GIL" set a Python exception; NULL or −1 then
///   means that it is set.
/// - **The GIL**: all other functions may be called with or without it. Functions that can block release it meanwhile.
/// - **Threads**: all functions may be called at the same time, also on one ref, unless their comment says otherwise.

#ifndef MEMARRAY_INTEROP_C_API_H
#define MEMARRAY_INTEROP_C_API_H

#include <stddef.h>
#include <stdint.h>

/// Incremented when an entry is changed or removed; the minor version then restarts at 0.
#define MEMARRAY_C_API_MAJOR 1
/// Incremented when entries are added, always at the table's end.
#define MEMARRAY_C_API_MINOR 1

#if defined(__clang__)
#define __memarray_give __attribute__((annotate("memarray_give")))
#define __memarray_take __attribute__((annotate("memarray_take")))
#define __memarray_keep __attribute__((annotate("memarray_keep")))
#else
#define __memarray_give
#define __memarray_take
#define __memarray_keep
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/// Last errors of arrays and views, beside the codes of the driver. Each stands for a Python exception.
enum MemArrayErrorCode {
  MEMARRAY_ERROR = -1,                   ///< `memarray.Error`
  MEMARRAY_LOCK_ERROR = -2,              ///< `memarray.LockError`: the array has another holder, or the lease is closed
  MEMARRAY_UNSUPPORTED_TYPE_ERROR = -3,  ///< `memarray.UnsupportedTypeError`
  MEMARRAY_VALUE_ERROR = -4,
  MEMARRAY_TYPE_ERROR = -5,
  MEMARRAY_BUFFER_ERROR = -6,  ///< memory that cannot be exported as requested
  MEMARRAY_INDEX_ERROR = -7,
  MEMARRAY_OVERFLOW_ERROR = -8,
  MEMARRAY_INTERRUPTED = -9  ///< Ctrl-C during a wait without the GIL; Python's exception is pending
};

typedef struct MemArrayContext* MemArrayContextRef;
typedef struct MemArrayStream* MemArrayStreamRef;
typedef struct MemArrayEvent* MemArrayEventRef;
typedef struct MemArrayMemoryPool* MemArrayMemoryPoolRef;
typedef struct MemArrayDevicePtr* MemArrayDevicePtrRef;
typedef struct MemArrayArray* MemArrayArrayRef;
typedef struct MemArrayLease* MemArrayLeaseRef;
typedef struct MemArrayView* MemArrayViewRef;
typedef struct MemArrayArrayAPI MemArrayArrayAPI;  ///< in <memarray/interop/c_arrays.h>
typedef struct MemArrayViewAPI MemArrayViewAPI;    ///< in <memarray/interop/c_views.h>

/// A device as DLPack numbers them (`DLDevice`): type 1 is the host, with id 0; type 2 is a CUDA device.
typedef struct MemArrayDevice {
  int32_t type;
  int32_t id;
} MemArrayDevice;

/// A callback that releases the owner of a foreign resource. It is called once, on any thread, with or without the GIL,
/// perhaps before the function that received it returns. It must not raise, and must preserve a pending Python
/// exception. NULL if there is nothing to release.
typedef void (*MemArrayDrop)(void* owner);

/// A resource that is valid until it is closed: `close_func(data)`, once. `<memarray/interop/py_resource.h>` makes and
/// closes resources.
typedef struct MemArrayResource {
  void (*close_func)(void* data);
  void* data;
} MemArrayResource;

/// Byte counts of a pool, as the driver counts them: reserved from the device and used by allocations, now and at most.
typedef struct MemArrayMemoryPoolStatistics {
  uint64_t reserved;
  uint64_t reserved_high;
  uint64_t used;
  uint64_t used_high;
} MemArrayMemoryPoolStatistics;

/// The function table. Raw resources are passed as integers: `(CUstream)memarray_api->stream_as_intptr(stream)`.
typedef struct MemArrayAPI {
  /// `MEMARRAY_C_API_MAJOR` of the installed memarray. `major`, `minor` and `size` are the same in every version.
  uint32_t major;
  /// `MEMARRAY_C_API_MINOR` of the installed memarray.
  uint32_t minor;
  /// Size in bytes of the installed table.
  size_t size;

  /// Returns the library's version, such as "0.1.0".
  char const* (*version)(void);
  /// Returns the number of CUDA devices; 0 if there is no driver or it fails.
  int (*device_count)(void);
  /// Returns 1 while new resources belong to simulated devices, else 0.
  int (*is_simulated)(void);

  /// Returns the code of the calling thread's last failure and clears it; 0 if there is none.
  int (*get_last_error)(void);
  /// Returns the code of the calling thread's last failure, like `get_last_error`, but keeps it.
  int (*peek_last_error)(void);
  /// Clears the calling thread's last error.
  void (*clear_last_error)(void);
  /// Writes a message for `code`, which begins with `what`, into `buffer`: as much as fits with a NUL into `size`
  /// bytes. `buffer` may be NULL if `size` is 0. Returns the length of the whole message without NUL, like `snprintf`.
  /// For the code of the thread's last failure, the message has the details of that failure.
  size_t (*describe_error)(int code, char const* what, char* buffer, size_t size);
  /// Sets the Python exception for the last error: `memarray.OutOfMemoryError` for code 2, the exception of
  /// `MemArrayErrorCode` below 0, else `memarray.CudaError`; `memarray.Error` if there is no last error. Its message
  /// begins with `what`. Clears the last error and returns −1. With the GIL only.
  int (*raise_last_error)(char const* what);
  /// Releases one reference to a Python object: a `MemArrayDrop` for Python owners. Acquires the GIL. Does nothing if
  /// the interpreter is ending or gone.
  void (*drop_object)(__memarray_take void* object);

  /// Returns a device's primary context, which all code in the process shares.
  __memarray_give MemArrayContextRef (*get_primary_context)(int device_id);
  /// Returns the calling thread's current context, which must outlive the ref. Fails with code 201 if there is none.
  __memarray_give MemArrayContextRef (*get_current_context)(void);
  /// Creates a context and does not make it current; `flags` as for `cuCtxCreate`.
  __memarray_give MemArrayContextRef (*create_context)(int device_id, unsigned flags);
  /// Wraps a foreign CUcontext, which must outlive the ref.
  __memarray_give MemArrayContextRef (*create_context_ref)(intptr_t context);
  /// Wraps a foreign CUcontext that is valid until `drop(owner)`, which is called when the last ref is gone.
  __memarray_give MemArrayContextRef (*create_context_with_owner)(intptr_t context, __memarray_take void* owner,
                                                                  MemArrayDrop drop);
  /// Adds a reference.
  __memarray_give MemArrayContextRef (*retain_context)(__memarray_keep MemArrayContextRef context);
  /// Releases one reference. When the last one and everything made in the context are gone, a created context is
  /// destroyed and an owner is dropped. A primary context is released, but that of a real driver stays until the
  /// process ends.
  void (*release_context)(__memarray_take MemArrayContextRef context);
  /// Returns the CUcontext.
  intptr_t (*context_as_intptr)(__memarray_keep MemArrayContextRef context);
  /// Returns the device of the context.
  int (*context_device_id)(__memarray_keep MemArrayContextRef context);

  /// Returns CUDA's stream 0 of the context in which work is submitted.
  __memarray_give MemArrayStreamRef (*get_default_stream)(void);
  /// Returns CUDA's stream 1: the default stream that all threads share.
  __memarray_give MemArrayStreamRef (*get_legacy_stream)(void);
  /// Returns CUDA's stream 2: the calling thread's default stream.
  __memarray_give MemArrayStreamRef (*get_per_thread_stream)(void);
  /// Creates a stream. `nonblocking`: no implicit synchronization with the legacy default stream
  /// (CU_STREAM_NON_BLOCKING). `priority`: lower is sooner; the driver clamps it. Work in the stream completes even
  /// after the last ref is gone.
  __memarray_give MemArrayStreamRef (*create_stream)(__memarray_keep MemArrayContextRef context, int nonblocking,
                                                     int priority);
  /// Wraps a foreign CUstream, which must outlive the ref. `context`: the context of the stream; NULL: the driver is
  /// asked for it.
  __memarray_give MemArrayStreamRef (*create_stream_ref)(intptr_t stream, __memarray_keep MemArrayContextRef context);
  /// Wraps a foreign CUstream that is valid until `drop(owner)`. `context` as for `create_stream_ref`.
  __memarray_give MemArrayStreamRef (*create_stream_with_owner)(intptr_t stream, __memarray_take void* owner,
                                                                MemArrayDrop drop,
                                                                __memarray_keep MemArrayContextRef context);
  /// Adds a reference.
  __memarray_give MemArrayStreamRef (*retain_stream)(__memarray_keep MemArrayStreamRef stream);
  /// Releases one reference. With the last one a created stream is destroyed and an owner is dropped; default streams
  /// stay. Does not wait for work in the stream, which completes.
  void (*release_stream)(__memarray_take MemArrayStreamRef stream);
  /// Returns the CUstream: 0, 1 and 2 for the default, legacy and per-thread streams.
  intptr_t (*stream_as_intptr)(__memarray_keep MemArrayStreamRef stream);
  /// Returns the context of a stream. Fails with code 500 for the default streams, which every context has.
  __memarray_give MemArrayContextRef (*stream_context)(__memarray_keep MemArrayStreamRef stream);
  /// Blocks until all work in the stream has completed, and fails with the error of work that failed. `context`: the
  /// one whose default stream is meant; for other streams it may be NULL.
  int (*synchronize_stream)(__memarray_keep MemArrayStreamRef stream, __memarray_keep MemArrayContextRef context);
  /// Blocks until all work in the primary contexts that memarray holds has completed, and fails with the error of work
  /// that failed.
  int (*synchronize_all)(void);

  /// Creates an event. `timing`: `elapsed` may be called with it, which costs a little more.
  __memarray_give MemArrayEventRef (*create_event)(__memarray_keep MemArrayContextRef context, int timing);
  /// Wraps a foreign CUevent of `context`. The event must outlive the ref.
  __memarray_give MemArrayEventRef (*create_event_ref)(intptr_t event, __memarray_keep MemArrayContextRef context);
  /// Wraps a foreign CUevent of `context`. The event is valid until `drop(owner)`.
  __memarray_give MemArrayEventRef (*create_event_with_owner)(intptr_t event, __memarray_take void* owner,
                                                              MemArrayDrop drop,
                                                              __memarray_keep MemArrayContextRef context);
  /// Adds a reference.
  __memarray_give MemArrayEventRef (*retain_event)(__memarray_keep MemArrayEventRef event);
  /// Releases one reference. With the last one a created event is destroyed and an owner is dropped. Does not wait for
  /// the event, and pending waits for it stay valid.
  void (*release_event)(__memarray_take MemArrayEventRef event);
  /// Returns the CUevent.
  intptr_t (*event_as_intptr)(__memarray_keep MemArrayEventRef event);
  /// Returns the context in which the event was created.
  __memarray_give MemArrayContextRef (*event_context)(__memarray_keep MemArrayEventRef event);
  /// Records the event, which then stands for the end of all work that is in the stream now.
  int (*record_event)(__memarray_keep MemArrayEventRef event, __memarray_keep MemArrayStreamRef stream);
  /// Makes work that is submitted to the stream from now on wait for the work that the event stands for now. Does not
  /// block.
  int (*wait_event)(__memarray_keep MemArrayStreamRef stream, __memarray_keep MemArrayEventRef event);
  /// Blocks until the work that the event stands for has completed.
  int (*synchronize_event)(__memarray_keep MemArrayEventRef event);
  /// Returns 1 if the work that the event stands for has completed, 0 if not, −1 if the driver cannot say.
  int (*query_event)(__memarray_keep MemArrayEventRef event);
  /// Writes the seconds between two events with timing whose work has completed. Leaves `*seconds` unchanged on
  /// failure.
  int (*elapsed)(__memarray_keep MemArrayEventRef start, __memarray_keep MemArrayEventRef end, double* seconds);

  /// Creates a pool of a device's memory. `release_threshold`: bytes that it keeps for later allocations (UINT64_MAX:
  /// all). `max_size`: bytes that it may grow to (0: the driver decides). Fails with code 801 if the device has no
  /// pools.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool)(int device_id, uint64_t release_threshold,
                                                              size_t max_size);
  /// Returns the device's own pool, which is never destroyed.
  __memarray_give MemArrayMemoryPoolRef (*get_device_memory_pool)(int device_id);
  /// Wraps a foreign CUmemoryPool, which must outlive the ref.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool_ref)(intptr_t pool, int device_id);
  /// Wraps a foreign CUmemoryPool that is valid until `drop(owner)`.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool_with_owner)(intptr_t pool, __memarray_take void* owner,
                                                                         MemArrayDrop drop, int device_id);
  /// Adds a reference.
  __memarray_give MemArrayMemoryPoolRef (*retain_memory_pool)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Releases one reference. When the last one and all memory from the pool are gone, a created pool is destroyed and
  /// an owner is dropped; a device's own pool stays.
  void (*release_memory_pool)(__memarray_take MemArrayMemoryPoolRef pool);
  /// Returns the CUmemoryPool.
  intptr_t (*memory_pool_as_intptr)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Returns the primary context of the pool's device.
  __memarray_give MemArrayContextRef (*memory_pool_context)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Writes the byte counts of the pool. Leaves `*statistics` unchanged on failure.
  int (*get_memory_pool_statistics)(__memarray_keep MemArrayMemoryPoolRef pool,
                                    MemArrayMemoryPoolStatistics* statistics);
  /// Sets how many bytes the pool keeps for later allocations, as in `create_memory_pool`.
  int (*set_release_threshold)(__memarray_keep MemArrayMemoryPoolRef pool, uint64_t bytes);
  /// Returns unused memory to the device, except `bytes_to_keep` (`cuMemPoolTrimTo`).
  int (*trim_memory_pool)(__memarray_keep MemArrayMemoryPoolRef pool, size_t bytes_to_keep);

  /// Allocates memory from a pool, for work that is submitted to `stream` from now on. It is freed in the order of its
  /// deallocation stream, at first `stream`.
  __memarray_give MemArrayDevicePtrRef (*allocate_from_pool)(__memarray_keep MemArrayMemoryPoolRef pool,
                                                             __memarray_keep MemArrayStreamRef stream, size_t bytes);
  /// Allocates memory of the context's device. Releasing the last ref waits for all work on the device.
  __memarray_give MemArrayDevicePtrRef (*allocate_device)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Allocates managed memory, which host and devices reach and the driver migrates.
  __memarray_give MemArrayDevicePtrRef (*allocate_managed)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Allocates page-locked host memory; its address is a host address.
  __memarray_give MemArrayDevicePtrRef (*allocate_pinned)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Wraps a foreign CUdeviceptr, whose memory must outlive the ref.
  __memarray_give MemArrayDevicePtrRef (*create_device_ptr_ref)(intptr_t pointer);
  /// Wraps a foreign CUdeviceptr that is valid until `drop(owner)`.
  __memarray_give MemArrayDevicePtrRef (*create_device_ptr_with_owner)(intptr_t pointer, __memarray_take void* owner,
                                                                       MemArrayDrop drop);
  /// Adds a reference.
  __memarray_give MemArrayDevicePtrRef (*retain_device_ptr)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Releases one reference. With the last one memory from a pool is freed in the order of its deallocation stream,
  /// after the events of `free_after`. Other memory is freed when these events and all work on its device have
  /// completed, which blocks. An owner is dropped.
  void (*release_device_ptr)(__memarray_take MemArrayDevicePtrRef pointer);
  /// Returns the address, a CUdeviceptr.
  intptr_t (*device_ptr_as_intptr)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Returns the stream in whose order memory from a pool is freed. Fails with code 500 for other memory.
  __memarray_give MemArrayStreamRef (*deallocation_stream)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Sets the stream in which memory from a pool was used last; ignored for other memory. Must not run at the same time
  /// as another call on this memory.
  int (*set_deallocation_stream)(__memarray_keep MemArrayDevicePtrRef pointer,
                                 __memarray_keep MemArrayStreamRef stream);
  /// Makes the free wait for the event, which stands for work on another stream and must not be recorded again before
  /// the free. Must not run at the same time as another call on this memory.
  int (*free_after)(__memarray_keep MemArrayDevicePtrRef pointer, __memarray_keep MemArrayEventRef event);

  // Since 1.1: the basis of `<memarray/interop/py_resource.h>`. `object`: a PyObject. Resources are closed on any
  // thread, with or without the GIL. When the interpreter is ending or gone, Python objects are leaked.

  /// Keeps `object` until `*resource` is closed. `what`: a literal that names the resource in traces. Cannot fail.
  /// With the GIL only.
  void (*hold_object)(__memarray_take void* object, char const* what, __memarray_give MemArrayResource* resource);
  /// Implements `MemArray_AsPointerRes`. With the GIL only.
  void* (*array_as_pointer)(__memarray_keep void* object, int writable, __memarray_give MemArrayResource* resource);
  /// Implements `BufferView_AsPointerRes`. With the GIL only.
  void* (*view_as_pointer)(__memarray_keep void* object, int writable, __memarray_give MemArrayResource* resource);

  /// Arrays and their leases: `<memarray/interop/c_arrays.h>`.
  MemArrayArrayAPI const* arrays;
  /// Strided views: `<memarray/interop/c_views.h>`.
  MemArrayViewAPI const* views;
} MemArrayAPI;

/// Returns the capsule's table, for code that links libmemarray and needs no Python. It is never destroyed. Functions
/// that need the GIL return NULL, without a Python error, until memarray is imported.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
MemArrayAPI const* memarray_c_api(void);

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_API_H

// By a guard of its own, so that this part is compiled as soon as Python.h has been included.
#if defined(Py_PYTHON_H) && !defined(MEMARRAY_INTEROP_C_API_IMPORT)
#define MEMARRAY_INTEROP_C_API_IMPORT

#if defined(__cplusplus)
extern "C" {
#endif

/// The table; NULL until `memarray_import`. All files of an extension share this pointer; other extensions do not.
#if defined(__GNUC__)
__attribute__((weak, visibility("hidden"))) MemArrayAPI const* memarray_api;  // NOLINT: weak, so one for all files
#else
static MemArrayAPI const* memarray_api;
#endif

/// Checks that a table has the functions of this header. Returns 0, or −1 with an ImportError that says what to do.
static inline int memarray_check_api(MemArrayAPI const* table) {
  uint32_t const minor = MEMARRAY_C_API_MINOR;  // a variable, as compilers warn of comparisons with a constant 0
  if (table->major > MEMARRAY_C_API_MAJOR) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for version %u of memarray's C API, but the memarray installed here has "
                 "version %u: rebuild this extension against it",
                 (unsigned)MEMARRAY_C_API_MAJOR, (unsigned)table->major);
    return -1;
  }
  if (table->major < MEMARRAY_C_API_MAJOR || table->minor < minor || table->size < sizeof(MemArrayAPI)) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for version %u.%u of memarray's C API (%zu bytes), but the memarray "
                 "installed here has %u.%u (%zu bytes): update memarray (python -m pip install --upgrade memarray)",
                 (unsigned)MEMARRAY_C_API_MAJOR, (unsigned)MEMARRAY_C_API_MINOR, sizeof(MemArrayAPI),
                 (unsigned)table->major, (unsigned)table->minor, table->size);
    return -1;
  }
  return 0;
}

/// Imports memarray and fetches the table into `memarray_api`, once. Returns 0, or −1 with an ImportError or the
/// exception that importing memarray raised. With the GIL only.
static inline int memarray_import(void) {
  PyObject* module;
  PyObject* capsule;
  MemArrayAPI const* table = memarray_api;
  if (table) return 0;
  module = PyImport_ImportModule("memarray._core");
  if (!module) return -1;
  capsule = PyObject_GetAttrString(module, "_C_API");
  if (capsule) {
    table = (MemArrayAPI const*)PyCapsule_GetPointer(capsule, "memarray._core._C_API");
    Py_DECREF(capsule);
  }
  Py_DECREF(module);
  if (!table) {
    PyErr_SetString(PyExc_ImportError,
                    "the memarray installed here has no C API: update memarray (python -m pip install --upgrade "
                    "memarray)");
    return -1;
  }
  if (memarray_check_api(table) != 0) return -1;
  memarray_api = table;
  return 0;
}

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_API_IMPORT
