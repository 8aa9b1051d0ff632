/// @file
/// The C API for C11, C++, Cython and ctypes, without linking memarray. It shares driver, last errors and counters with
/// `import memarray`.
///
///     #include <Python.h>  // first, for memarray_import
///     #include <memarray/c_api.h>
///
///     PyMODINIT_FUNC PyInit_mine(void) {
///       if (memarray_import() != 0) return NULL;
///       ...
///
/// - **Refs** are counted, on any thread, and keep what they need: a stream its context, memory its pool. Returned
///   pointers are valid as long as the ref.
/// - **Ownership**: `__memarray_give` makes the caller the owner, `__memarray_keep` borrows for the call,
///   `__memarray_take` passes ownership even if the call fails.
/// - `create_…_ref` wraps a foreign resource that must outlive the ref; `create_…_with_owner` one that is valid until
///   `drop(owner)`, called after the last ref.
/// - `retain_…` returns its argument. The last `release_…` destroys a created resource or drops an owner; failed work
///   is not reported. `…_as_intptr` returns the raw resource. All accept NULL and cannot fail.
/// - **Failure** is NULL, −1 or a size of 0, and sets the thread's last error: a `CUresult` (2: out of memory; 400:
///   NULL ref; 500: no such resource) or a `MemArrayErrorCode`. A NULL ref keeps an earlier last error, so a chain of
///   calls reports its first failure. Success keeps the last error; an int is then 0 unless stated otherwise.
///   Predicates (`…is_…`) return 0 for NULL.
/// - **The GIL**: functions "With the GIL" need it, and set a Python exception instead. Others release it while they
///   block.
/// - **Threads**: functions are thread-safe, also on one ref, unless stated otherwise.

#ifndef MEMARRAY_INTEROP_C_API_H
#define MEMARRAY_INTEROP_C_API_H

#include <stddef.h>
#include <stdint.h>

/// Incremented when an entry is changed or removed; the minor version restarts at 0.
#define MEMARRAY_C_API_MAJOR 1
/// Incremented when entries are appended.
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

/// Last errors besides the driver's codes, each for a Python exception.
enum MemArrayErrorCode {
  MEMARRAY_ERROR = -1,                   ///< `memarray.Error`
  MEMARRAY_LOCK_ERROR = -2,              ///< `memarray.LockError`: another holder, or a closed lease
  MEMARRAY_UNSUPPORTED_TYPE_ERROR = -3,  ///< `memarray.UnsupportedTypeError`
  MEMARRAY_VALUE_ERROR = -4,
  MEMARRAY_TYPE_ERROR = -5,
  MEMARRAY_BUFFER_ERROR = -6,  ///< memory that cannot be exported as requested
  MEMARRAY_INDEX_ERROR = -7,
  MEMARRAY_OVERFLOW_ERROR = -8,
  MEMARRAY_INTERRUPTED = -9  ///< Ctrl-C during a wait; the Python exception is pending
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

/// A `DLDevice` of DLPack: type 1, id 0 is the host; type 2 is CUDA.
typedef struct MemArrayDevice {
  int32_t type;
  int32_t id;
} MemArrayDevice;

/// A callback, or NULL, that releases a foreign resource's owner. It runs once, on any thread, with or without the GIL,
/// perhaps during the receiving call. It must neither raise nor change a pending Python exception.
typedef void (*MemArrayDrop)(void* owner);

/// A resource that is valid until `close_func(data)`: `<memarray/interop/py_resource.h>`.
typedef struct MemArrayResource {
  void (*close_func)(void* data);
  void* data;
} MemArrayResource;

/// Bytes reserved from the device and used by allocations, with the maxima so far.
typedef struct MemArrayMemoryPoolStatistics {
  uint64_t reserved;
  uint64_t reserved_high;
  uint64_t used;
  uint64_t used_high;
} MemArrayMemoryPoolStatistics;

/// The function table. Raw resources are integers: `(CUstream)memarray_api->stream_as_intptr(stream)`.
typedef struct MemArrayAPI {
  /// The installed `MEMARRAY_C_API_MAJOR`. Every version has `major`, `minor` and `size`.
  uint32_t major;
  /// The installed `MEMARRAY_C_API_MINOR`.
  uint32_t minor;
  /// The installed table's size in bytes.
  size_t size;

  /// Returns the version, such as "0.1.0".
  char const* (*version)(void);
  /// Counts CUDA devices; 0 without a working driver.
  int (*device_count)(void);
  /// True while new resources belong to simulated devices.
  int (*is_simulated)(void);

  /// Returns and clears the thread's last error; 0 if none.
  int (*get_last_error)(void);
  /// Returns the last error without clearing it.
  int (*peek_last_error)(void);
  /// Clears the last error.
  void (*clear_last_error)(void);
  /// Writes a message that begins with `what` to `size` bytes, detailed if `code` is the last failure's. Returns the
  /// whole length, like `snprintf`.
  size_t (*describe_error)(int code, char const* what, char* buffer, size_t size);
  /// Sets the Python exception for the last error and clears it: `OutOfMemoryError` for 2, `CudaError` for other driver
  /// codes, `memarray.Error` for none. Its message begins with `what`. Returns −1. With the GIL.
  int (*raise_last_error)(char const* what);
  /// A `MemArrayDrop` for Python objects. Acquires the GIL; leaks once the interpreter is ending.
  void (*drop_object)(__memarray_take void* object);

  /// Returns a device's primary context, shared by the process.
  __memarray_give MemArrayContextRef (*get_primary_context)(int device_id);
  /// Returns the thread's current context, which must outlive the ref; code 201 if none.
  __memarray_give MemArrayContextRef (*get_current_context)(void);
  /// Creates a context, not made current, with `flags` of `cuCtxCreate`.
  __memarray_give MemArrayContextRef (*create_context)(int device_id, unsigned flags);
  /// Wraps a CUcontext.
  __memarray_give MemArrayContextRef (*create_context_ref)(intptr_t context);
  /// Wraps a CUcontext with its owner.
  __memarray_give MemArrayContextRef (*create_context_with_owner)(intptr_t context, __memarray_take void* owner,
                                                                  MemArrayDrop drop);
  /// Adds a reference.
  __memarray_give MemArrayContextRef (*retain_context)(__memarray_keep MemArrayContextRef context);
  /// Releases one reference. A real driver's primary context stays until the process ends.
  void (*release_context)(__memarray_take MemArrayContextRef context);
  /// Returns the CUcontext.
  intptr_t (*context_as_intptr)(__memarray_keep MemArrayContextRef context);
  /// Returns the context's device.
  int (*context_device_id)(__memarray_keep MemArrayContextRef context);

  /// Returns stream 0, the default stream of the context in which work is submitted.
  __memarray_give MemArrayStreamRef (*get_default_stream)(void);
  /// Returns CU_STREAM_LEGACY (1), shared by all threads.
  __memarray_give MemArrayStreamRef (*get_legacy_stream)(void);
  /// Returns CU_STREAM_PER_THREAD (2).
  __memarray_give MemArrayStreamRef (*get_per_thread_stream)(void);
  /// Creates a stream. `nonblocking`: CU_STREAM_NON_BLOCKING. `priority`: lower is sooner, clamped by the driver.
  __memarray_give MemArrayStreamRef (*create_stream)(__memarray_keep MemArrayContextRef context, int nonblocking,
                                                     int priority);
  /// Wraps a CUstream of `context`; NULL: the driver finds it.
  __memarray_give MemArrayStreamRef (*create_stream_ref)(intptr_t stream, __memarray_keep MemArrayContextRef context);
  /// Wraps a CUstream with its owner.
  __memarray_give MemArrayStreamRef (*create_stream_with_owner)(intptr_t stream, __memarray_take void* owner,
                                                                MemArrayDrop drop,
                                                                __memarray_keep MemArrayContextRef context);
  /// Adds a reference.
  __memarray_give MemArrayStreamRef (*retain_stream)(__memarray_keep MemArrayStreamRef stream);
  /// Releases one reference; submitted work completes, without a wait.
  void (*release_stream)(__memarray_take MemArrayStreamRef stream);
  /// Returns the CUstream; 0 to 2 are default streams.
  intptr_t (*stream_as_intptr)(__memarray_keep MemArrayStreamRef stream);
  /// Returns the stream's context; code 500 for default streams.
  __memarray_give MemArrayContextRef (*stream_context)(__memarray_keep MemArrayStreamRef stream);
  /// Blocks until the stream's work has completed; fails if work failed. `context`: required for default streams, else
  /// NULL.
  int (*synchronize_stream)(__memarray_keep MemArrayStreamRef stream, __memarray_keep MemArrayContextRef context);
  /// Like `synchronize_stream`, for all work in memarray's primary contexts.
  int (*synchronize_all)(void);

  /// Creates an event. `timing` enables `elapsed`, at a small cost.
  __memarray_give MemArrayEventRef (*create_event)(__memarray_keep MemArrayContextRef context, int timing);
  /// Wraps a CUevent of `context`.
  __memarray_give MemArrayEventRef (*create_event_ref)(intptr_t event, __memarray_keep MemArrayContextRef context);
  /// Wraps a CUevent of `context` with its owner.
  __memarray_give MemArrayEventRef (*create_event_with_owner)(intptr_t event, __memarray_take void* owner,
                                                              MemArrayDrop drop,
                                                              __memarray_keep MemArrayContextRef context);
  /// Adds a reference.
  __memarray_give MemArrayEventRef (*retain_event)(__memarray_keep MemArrayEventRef event);
  /// Releases one reference; pending waits stay valid.
  void (*release_event)(__memarray_take MemArrayEventRef event);
  /// Returns the CUevent.
  intptr_t (*event_as_intptr)(__memarray_keep MemArrayEventRef event);
  /// Returns the event's context.
  __memarray_give MemArrayContextRef (*event_context)(__memarray_keep MemArrayEventRef event);
  /// Makes the event mark all work now in the stream.
  int (*record_event)(__memarray_keep MemArrayEventRef event, __memarray_keep MemArrayStreamRef stream);
  /// Makes later work in the stream, not the host, wait for the marked work.
  int (*wait_event)(__memarray_keep MemArrayStreamRef stream, __memarray_keep MemArrayEventRef event);
  /// Blocks until the marked work has completed.
  int (*synchronize_event)(__memarray_keep MemArrayEventRef event);
  /// Returns 1 if the marked work has completed, else 0; −1 on failure.
  int (*query_event)(__memarray_keep MemArrayEventRef event);
  /// Writes the seconds between completed events with timing; nothing on failure.
  int (*elapsed)(__memarray_keep MemArrayEventRef start, __memarray_keep MemArrayEventRef end, double* seconds);

  /// Creates a pool. `release_threshold`: bytes kept for later allocations (UINT64_MAX: all). `max_size`: in bytes (0:
  /// the driver's). Code 801 if the device has no pools.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool)(int device_id, uint64_t release_threshold,
                                                              size_t max_size);
  /// Returns the device's default pool, never destroyed.
  __memarray_give MemArrayMemoryPoolRef (*get_device_memory_pool)(int device_id);
  /// Wraps a CUmemoryPool.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool_ref)(intptr_t pool, int device_id);
  /// Wraps a CUmemoryPool with its owner.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool_with_owner)(intptr_t pool, __memarray_take void* owner,
                                                                         MemArrayDrop drop, int device_id);
  /// Adds a reference.
  __memarray_give MemArrayMemoryPoolRef (*retain_memory_pool)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Releases one reference.
  void (*release_memory_pool)(__memarray_take MemArrayMemoryPoolRef pool);
  /// Returns the CUmemoryPool.
  intptr_t (*memory_pool_as_intptr)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Returns the primary context of the pool's device.
  __memarray_give MemArrayContextRef (*memory_pool_context)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Writes the pool's byte counts; nothing on failure.
  int (*get_memory_pool_statistics)(__memarray_keep MemArrayMemoryPoolRef pool,
                                    MemArrayMemoryPoolStatistics* statistics);
  /// Sets the bytes kept for later allocations.
  int (*set_release_threshold)(__memarray_keep MemArrayMemoryPoolRef pool, uint64_t bytes);
  /// Returns unused memory to the device until `bytes_to_keep` stay reserved (`cuMemPoolTrimTo`).
  int (*trim_memory_pool)(__memarray_keep MemArrayMemoryPoolRef pool, size_t bytes_to_keep);

  /// Allocates pool memory for later work in `stream`, its first deallocation stream.
  __memarray_give MemArrayDevicePtrRef (*allocate_from_pool)(__memarray_keep MemArrayMemoryPoolRef pool,
                                                             __memarray_keep MemArrayStreamRef stream, size_t bytes);
  /// Allocates memory of the context's device.
  __memarray_give MemArrayDevicePtrRef (*allocate_device)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Allocates managed memory, for host and devices.
  __memarray_give MemArrayDevicePtrRef (*allocate_managed)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Allocates page-locked host memory, at a host address.
  __memarray_give MemArrayDevicePtrRef (*allocate_pinned)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Wraps a CUdeviceptr.
  __memarray_give MemArrayDevicePtrRef (*create_device_ptr_ref)(intptr_t pointer);
  /// Wraps a CUdeviceptr with its owner.
  __memarray_give MemArrayDevicePtrRef (*create_device_ptr_with_owner)(intptr_t pointer, __memarray_take void* owner,
                                                                       MemArrayDrop drop);
  /// Adds a reference.
  __memarray_give MemArrayDevicePtrRef (*retain_device_ptr)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Releases one reference. The last one frees pool memory in its deallocation stream, after the events of
  /// `free_after`. Other memory blocks until these events and, unless pinned, all work on the device.
  void (*release_device_ptr)(__memarray_take MemArrayDevicePtrRef pointer);
  /// Returns the CUdeviceptr.
  intptr_t (*device_ptr_as_intptr)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Returns the stream in whose order pool memory is freed; code 500 for other memory.
  __memarray_give MemArrayStreamRef (*deallocation_stream)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Sets the deallocation stream of pool memory, that of its last use; ignores other memory. Not thread-safe.
  int (*set_deallocation_stream)(__memarray_keep MemArrayDevicePtrRef pointer,
                                 __memarray_keep MemArrayStreamRef stream);
  /// Makes the free wait for the event, which must stay as recorded. Not thread-safe.
  int (*free_after)(__memarray_keep MemArrayDevicePtrRef pointer, __memarray_keep MemArrayEventRef event);

  // Since 1.1, for `<memarray/interop/py_resource.h>`. `object` is a PyObject.

  /// Keeps `object` until `*resource` is closed; cannot fail. `what`: a literal that names it in traces. With the GIL.
  void (*hold_object)(__memarray_take void* object, char const* what, __memarray_give MemArrayResource* resource);
  /// Implements `MemArray_AsPointerRes`. With the GIL.
  void* (*array_as_pointer)(__memarray_keep void* object, int writable, __memarray_give MemArrayResource* resource);
  /// Implements `BufferView_AsPointerRes`. With the GIL.
  void* (*view_as_pointer)(__memarray_keep void* object, int writable, __memarray_give MemArrayResource* resource);

  /// Arrays and their leases.
  MemArrayArrayAPI const* arrays;
  /// Strided views.
  MemArrayViewAPI const* views;
} MemArrayAPI;

/// Returns the capsule's table, never destroyed, for code that links libmemarray. Before memarray is imported,
/// functions "With the GIL" fail without a Python error.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
MemArrayAPI const* memarray_c_api(void);

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_API_H

// A second guard: Python.h may be included after this header.
#if defined(Py_PYTHON_H) && !defined(MEMARRAY_INTEROP_C_API_IMPORT)
#define MEMARRAY_INTEROP_C_API_IMPORT

#if defined(__cplusplus)
extern "C" {
#endif

/// One table for all files of an extension; NULL until `memarray_import`.
#if defined(__GNUC__)
__attribute__((weak, visibility("hidden"))) MemArrayAPI const* memarray_api;  // NOLINT: weak, so one for all files
#else
static MemArrayAPI const* memarray_api;
#endif

/// Returns 0 if a table fits this header, else −1 with an ImportError.
static inline int memarray_check_api(MemArrayAPI const* table) {
  // Variables: compilers warn of comparisons with 0 and, in C++, of casts.
  uint32_t const major = MEMARRAY_C_API_MAJOR;
  uint32_t const minor = MEMARRAY_C_API_MINOR;
  if (table->major > major) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for version %u of memarray's C API, but the memarray installed here has "
                 "version %u: rebuild this extension against it",
                 major, table->major);
    return -1;
  }
  if (table->major < major || table->minor < minor || table->size < sizeof(MemArrayAPI)) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for version %u.%u of memarray's C API (%zu bytes), but the memarray "
                 "installed here has %u.%u (%zu bytes): update memarray (python -m pip install --upgrade memarray)",
                 major, minor, sizeof(MemArrayAPI), table->major, table->minor, table->size);
    return -1;
  }
  return 0;
}

/// Imports memarray and fetches the table, once; −1 with the Python error set on failure. With the GIL.
static inline int memarray_import(void) {
  PyObject* module;
  PyObject* capsule;
  MemArrayAPI const* table = memarray_api;
  if (table) return 0;
  module = PyImport_ImportModule("memarray._core");
  if (!module) return -1;
  capsule = PyObject_GetAttrString(module, "_C_API");
  if (capsule) {
    void* const found = PyCapsule_GetPointer(capsule, "memarray._core._C_API");
#if defined(__cplusplus)
    table = static_cast<MemArrayAPI const*>(found);
#else
    table = found;
#endif
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
