/// memarray for code that does not link it: C, Cython, ctypes, or C++ of another compiler. Needs no other header; C11
/// and C++. The functions are entries of one table, `memarray_api`, which works on the same core as `import memarray`:
/// the same driver, the same last error, the same counters.
///
///     #include <Python.h>  // first, for memarray_import
///     #include <memarray/c_api.h>
///
///     PyMODINIT_FUNC PyInit_mine(void) {
///       if (memarray_import() != 0) return NULL;
///       ...
///
/// - **Refs** are counted, on any thread. `__memarray_give`: the caller has a reference to release, or a resource to
///   close. `__memarray_keep`: it is looked at during the call. `__memarray_take`: it is the callee's from now on,
///   whether or not the call succeeds. A ref keeps what its resource depends on: a stream its context, memory its pool.
/// - **Failure** is NULL, or −1 where an int is returned, and a code in the calling thread's last error: a `CUresult`
///   (400 for a ref that is NULL and may not be, 500 for something asked for that is not there, 2 for no memory), or
///   one of `MemArrayErrorCode`, below 0. Success leaves the last error as it was. No function sets a Python exception
///   but those that say "with the GIL": NULL or −1 then means that one is set.
/// - **The GIL**: all others may be called with or without it. What can block lets go of it meanwhile.
/// - **Threads**: all may be called at the same time, also on one ref, where nothing else is said.

#ifndef MEMARRAY_INTEROP_C_API_H
#define MEMARRAY_INTEROP_C_API_H

#include <stddef.h>
#include <stdint.h>

/// Raised when an entry is changed or removed; then the minor one starts at 0 again.
#define MEMARRAY_C_API_MAJOR 1
/// Raised when entries are added, which is done at the table's end.
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

/// What arrays and views are refused for: last errors beside the driver's, as Python's exceptions are.
enum MemArrayErrorCode {
  MEMARRAY_ERROR = -1,                   ///< `memarray.Error`
  MEMARRAY_LOCK_ERROR = -2,              ///< `memarray.LockError`: somebody else holds the array, or a lease is over
  MEMARRAY_UNSUPPORTED_TYPE_ERROR = -3,  ///< `memarray.UnsupportedTypeError`
  MEMARRAY_VALUE_ERROR = -4,
  MEMARRAY_TYPE_ERROR = -5,
  MEMARRAY_BUFFER_ERROR = -6,  ///< memory that cannot be lent as asked
  MEMARRAY_INDEX_ERROR = -7,
  MEMARRAY_OVERFLOW_ERROR = -8,
  MEMARRAY_INTERRUPTED = -9  ///< Ctrl-C, while it waited with the GIL let go; Python's exception is pending
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

/// A place as DLPack numbers them: type 1 is the host, with id 0; 2 a CUDA device.
typedef struct MemArrayDevice {
  int32_t type;
  int32_t id;
} MemArrayDevice;

/// Ends what keeps a foreign resource good; called once, on any thread, with or without the GIL, perhaps before the
/// function that it was given to returns. It must not raise, and leaves a pending Python exception as it is. NULL where
/// nothing has to be done.
typedef void (*MemArrayDrop)(void* owner);

/// What is good until it is closed: `close_func(data)`, once. `<memarray/interop/py_resource.h>` makes and closes them.
typedef struct MemArrayResource {
  void (*close_func)(void* data);
  void* data;
} MemArrayResource;

/// Bytes, as the driver counts them: had from the device and handed out, now and at most.
typedef struct MemArrayMemoryPoolStatistics {
  uint64_t reserved;
  uint64_t reserved_high;
  uint64_t used;
  uint64_t used_high;
} MemArrayMemoryPoolStatistics;

/// Raw resources are passed as integers: `(CUstream)memarray_api->stream_as_intptr(stream)`.
typedef struct MemArrayAPI {
  /// `MEMARRAY_C_API_MAJOR` of the memarray that is installed. This and the next two are the same in every version.
  uint32_t major;
  /// Its `MEMARRAY_C_API_MINOR`.
  uint32_t minor;
  /// Bytes of this struct there.
  size_t size;

  /// The library's version, such as "0.1.0".
  char const* (*version)(void);
  /// How many CUDA devices there are; 0 where there is no driver or it fails.
  int (*device_count)(void);
  /// 1 while new resources are those of simulated devices.
  int (*is_simulated)(void);

  /// The code of the calling thread's last failure, and forgets it; 0 if there is none.
  int (*get_last_error)(void);
  /// The same, without forgetting it.
  int (*peek_last_error)(void);
  /// Forgets it.
  void (*clear_last_error)(void);
  /// Words for a code, beginning with `what`: as many as fit with a NUL into `size` bytes of `buffer` (NULL if `size`
  /// is 0). The length of all of them without NUL, as `snprintf` has it. Until the thread's next failure the code of
  /// its last one has that failure's own words.
  size_t (*describe_error)(int code, char const* what, char* buffer, size_t size);
  /// With the GIL: sets the Python exception for the last error and forgets that: `memarray.OutOfMemoryError` for code
  /// 2, else `memarray.CudaError`, below 0 as `MemArrayErrorCode` says; `memarray.Error` if there is none. Its message
  /// begins with `what`. Returns −1.
  int (*raise_last_error)(char const* what);
  /// A `MemArrayDrop` for owners that are Python objects: gives one reference back. It takes the GIL for that, and
  /// where the interpreter is ending or gone it does nothing.
  void (*drop_object)(__memarray_take void* object);

  /// The context that a device shares with everybody in the process.
  __memarray_give MemArrayContextRef (*get_primary_context)(int device_id);
  /// The calling thread's current context, which somebody else destroys later than the ref. Code 201 if it has none.
  __memarray_give MemArrayContextRef (*get_current_context)(void);
  /// A context of its own; `flags` as for `cuCtxCreate`. It is not made current.
  __memarray_give MemArrayContextRef (*create_context)(int device_id, unsigned flags);
  /// A CUcontext that somebody else destroys later than the ref.
  __memarray_give MemArrayContextRef (*create_context_ref)(intptr_t context);
  /// A CUcontext that is good until `drop(owner)`, which comes when the last ref is gone.
  __memarray_give MemArrayContextRef (*create_context_with_owner)(intptr_t context, __memarray_take void* owner,
                                                                  MemArrayDrop drop);
  /// One more reference to the same context: the same pointer. NULL for NULL. Cannot fail, as all `retain_…`.
  __memarray_give MemArrayContextRef (*retain_context)(__memarray_keep MemArrayContextRef context);
  /// Gives one reference back. With the last one, and when nothing is left that was made in it, a created context is
  /// destroyed; a primary one is given back; an owner is dropped. Nothing happens for NULL. No `release_…` tells of
  /// failure: whoever wants to know of work that failed synchronizes before.
  void (*release_context)(__memarray_take MemArrayContextRef context);
  /// The CUcontext, good as long as the ref; 0 for NULL. Cannot fail, as all `…_as_intptr`.
  intptr_t (*context_as_intptr)(__memarray_keep MemArrayContextRef context);
  /// The device that it is on; −1 on failure.
  int (*context_device_id)(__memarray_keep MemArrayContextRef context);

  /// CUDA's stream 0 of whatever context work is submitted in.
  __memarray_give MemArrayStreamRef (*get_default_stream)(void);
  /// CUDA's stream 1: the default stream that all threads share.
  __memarray_give MemArrayStreamRef (*get_legacy_stream)(void);
  /// CUDA's stream 2: the calling thread's own.
  __memarray_give MemArrayStreamRef (*get_per_thread_stream)(void);
  /// `nonblocking`: it does not wait for the default stream, nor that for it. `priority`: lower is sooner; the driver
  /// clamps it. When the last ref is gone its work goes on to its end.
  __memarray_give MemArrayStreamRef (*create_stream)(__memarray_keep MemArrayContextRef context, int nonblocking,
                                                     int priority);
  /// A CUstream that somebody else destroys later than the ref. `context`: that of the stream, which the driver is
  /// asked for if it is NULL.
  __memarray_give MemArrayStreamRef (*create_stream_ref)(intptr_t stream, __memarray_keep MemArrayContextRef context);
  /// The same, good until `drop(owner)`.
  __memarray_give MemArrayStreamRef (*create_stream_with_owner)(intptr_t stream, __memarray_take void* owner,
                                                                MemArrayDrop drop,
                                                                __memarray_keep MemArrayContextRef context);
  /// One more reference to the same stream; NULL for NULL.
  __memarray_give MemArrayStreamRef (*retain_stream)(__memarray_keep MemArrayStreamRef stream);
  /// Gives one reference back. With the last one a created stream is destroyed, and its work goes on to its end; an
  /// owner is dropped. It does not wait for that work. Nothing happens for NULL, nor to a default stream.
  void (*release_stream)(__memarray_take MemArrayStreamRef stream);
  /// The CUstream, good as long as the ref; of the default, legacy and per-thread streams 0, 1 and 2. 0 for NULL.
  intptr_t (*stream_as_intptr)(__memarray_keep MemArrayStreamRef stream);
  /// The context of a stream; code 500 for the default streams, which every context has.
  __memarray_give MemArrayContextRef (*stream_context)(__memarray_keep MemArrayStreamRef stream);
  /// Blocks until all work in the stream has ended, and fails with the error of work that failed. `context`: for the
  /// default streams, of which context; else it may be NULL. 0, or −1.
  int (*synchronize_stream)(__memarray_keep MemArrayStreamRef stream, __memarray_keep MemArrayContextRef context);
  /// The same for all work in the primary contexts that somebody holds.
  int (*synchronize_all)(void);

  /// `timing`: it can be asked for times, and costs a little more.
  __memarray_give MemArrayEventRef (*create_event)(__memarray_keep MemArrayContextRef context, int timing);
  /// A CUevent of this context that somebody else destroys later than the ref.
  __memarray_give MemArrayEventRef (*create_event_ref)(intptr_t event, __memarray_keep MemArrayContextRef context);
  /// The same, good until `drop(owner)`.
  __memarray_give MemArrayEventRef (*create_event_with_owner)(intptr_t event, __memarray_take void* owner,
                                                              MemArrayDrop drop,
                                                              __memarray_keep MemArrayContextRef context);
  /// One more reference to the same event; NULL for NULL.
  __memarray_give MemArrayEventRef (*retain_event)(__memarray_keep MemArrayEventRef event);
  /// Gives one reference back. With the last one a created event is destroyed, and who waits for it still does; an
  /// owner is dropped. It does not wait for it. Nothing happens for NULL.
  void (*release_event)(__memarray_take MemArrayEventRef event);
  /// The CUevent, good as long as the ref; 0 for NULL.
  intptr_t (*event_as_intptr)(__memarray_keep MemArrayEventRef event);
  /// The context that it was made in.
  __memarray_give MemArrayContextRef (*event_context)(__memarray_keep MemArrayEventRef event);
  /// The event stands for the end of all work that is in the stream now. 0, or −1.
  int (*record_event)(__memarray_keep MemArrayEventRef event, __memarray_keep MemArrayStreamRef stream);
  /// Work that is submitted to the stream from now on comes after what the event stands for now. Does not block. 0, or
  /// −1.
  int (*wait_event)(__memarray_keep MemArrayStreamRef stream, __memarray_keep MemArrayEventRef event);
  /// Blocks until what the event stands for has ended. 0, or −1.
  int (*synchronize_event)(__memarray_keep MemArrayEventRef event);
  /// 1 if what the event stands for has ended, 0 if not, −1 if the driver cannot say.
  int (*query_event)(__memarray_keep MemArrayEventRef event);
  /// Seconds between two events with timing whose work has ended. 0, or −1 with `*seconds` as it was.
  int (*elapsed)(__memarray_keep MemArrayEventRef start, __memarray_keep MemArrayEventRef end, double* seconds);

  /// A pool of a device's memory. `release_threshold`: bytes it keeps for later (UINT64_MAX: all). `max_size`: bytes it
  /// may grow to (0: the driver decides). Code 801 where the device has no pools.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool)(int device_id, uint64_t release_threshold,
                                                              size_t max_size);
  /// The device's own pool, which nobody destroys.
  __memarray_give MemArrayMemoryPoolRef (*get_device_memory_pool)(int device_id);
  /// A CUmemoryPool that somebody else destroys later than the ref.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool_ref)(intptr_t pool, int device_id);
  /// The same, good until `drop(owner)`.
  __memarray_give MemArrayMemoryPoolRef (*create_memory_pool_with_owner)(intptr_t pool, __memarray_take void* owner,
                                                                         MemArrayDrop drop, int device_id);
  /// One more reference to the same pool; NULL for NULL.
  __memarray_give MemArrayMemoryPoolRef (*retain_memory_pool)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// Gives one reference back. With the last one, and when memory from it is gone, a created pool is destroyed; an
  /// owner is dropped. Nothing happens for NULL, nor to a device's own pool.
  void (*release_memory_pool)(__memarray_take MemArrayMemoryPoolRef pool);
  /// The CUmemoryPool, good as long as the ref; 0 for NULL.
  intptr_t (*memory_pool_as_intptr)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// The primary context of its device.
  __memarray_give MemArrayContextRef (*memory_pool_context)(__memarray_keep MemArrayMemoryPoolRef pool);
  /// What the pool has and has handed out. 0, or −1 with `*statistics` as it was.
  int (*get_memory_pool_statistics)(__memarray_keep MemArrayMemoryPoolRef pool,
                                    MemArrayMemoryPoolStatistics* statistics);
  /// Sets how many bytes the pool keeps for later, as in `create_memory_pool`. 0, or −1.
  int (*set_release_threshold)(__memarray_keep MemArrayMemoryPoolRef pool, uint64_t bytes);
  /// Gives memory that nobody uses back to the device, but for `bytes_to_keep`. 0, or −1.
  int (*trim_memory_pool)(__memarray_keep MemArrayMemoryPoolRef pool, size_t bytes_to_keep);

  /// Memory from a pool, usable by work submitted to `stream` from now on. It is freed in the order of its deallocation
  /// stream, at first `stream`.
  __memarray_give MemArrayDevicePtrRef (*allocate_from_pool)(__memarray_keep MemArrayMemoryPoolRef pool,
                                                             __memarray_keep MemArrayStreamRef stream, size_t bytes);
  /// Memory of the context's device. Releasing the last ref waits for all work on the device.
  __memarray_give MemArrayDevicePtrRef (*allocate_device)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Memory that host and devices reach and the driver moves.
  __memarray_give MemArrayDevicePtrRef (*allocate_managed)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// Page-locked host memory; its address is a host address.
  __memarray_give MemArrayDevicePtrRef (*allocate_pinned)(__memarray_keep MemArrayContextRef context, size_t bytes);
  /// A CUdeviceptr that somebody else frees later than the ref.
  __memarray_give MemArrayDevicePtrRef (*create_device_ptr_ref)(intptr_t pointer);
  /// The same, good until `drop(owner)`.
  __memarray_give MemArrayDevicePtrRef (*create_device_ptr_with_owner)(intptr_t pointer, __memarray_take void* owner,
                                                                       MemArrayDrop drop);
  /// One more reference to the same memory; NULL for NULL.
  __memarray_give MemArrayDevicePtrRef (*retain_device_ptr)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Gives one reference back. With the last one memory from a pool is freed in the order of its deallocation stream,
  /// after the events of `free_after`; other memory when those and all work on its device have ended, which blocks; an
  /// owner is dropped. Nothing happens for NULL.
  void (*release_device_ptr)(__memarray_take MemArrayDevicePtrRef pointer);
  /// The address, a CUdeviceptr, good as long as the ref; 0 for NULL.
  intptr_t (*device_ptr_as_intptr)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// The stream in whose order memory from a pool is freed; code 500 for other memory.
  __memarray_give MemArrayStreamRef (*deallocation_stream)(__memarray_keep MemArrayDevicePtrRef pointer);
  /// Where memory from a pool was used last; other memory ignores it. Not at the same time as another call on this
  /// memory. 0, or −1.
  int (*set_deallocation_stream)(__memarray_keep MemArrayDevicePtrRef pointer,
                                 __memarray_keep MemArrayStreamRef stream);
  /// Work on another stream that the free waits for, as the event stands now. Not at the same time as another call on
  /// this memory. 0, or −1.
  int (*free_after)(__memarray_keep MemArrayDevicePtrRef pointer, __memarray_keep MemArrayEventRef event);

  // Since 1.1. What `<memarray/interop/py_resource.h>` is made of. `object`: a PyObject. Resources are closed on any
  // thread, with or without the GIL; when the interpreter is ending or gone, Python objects are leaked.

  /// With the GIL: keeps `object` until `*resource` is closed. `what`: a literal, which names it where resources are
  /// traced. Cannot fail.
  void (*hold_object)(__memarray_take void* object, char const* what, __memarray_give MemArrayResource* resource);
  /// With the GIL: `MemArray_AsPointerRes`.
  void* (*array_as_pointer)(__memarray_keep void* object, int writable, __memarray_give MemArrayResource* resource);
  /// With the GIL: `BufferView_AsPointerRes`.
  void* (*view_as_pointer)(__memarray_keep void* object, int writable, __memarray_give MemArrayResource* resource);

  /// Arrays and their leases: `<memarray/interop/c_arrays.h>`.
  MemArrayArrayAPI const* arrays;
  /// Strided views: `<memarray/interop/c_views.h>`.
  MemArrayViewAPI const* views;
} MemArrayAPI;

/// The table that the capsule has, for those who link libmemarray and need no Python. It is never destroyed. Functions
/// that need the GIL give nothing but NULL until memarray is imported.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
MemArrayAPI const* memarray_c_api(void);

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_API_H

// By a guard of its own, so that it comes whenever Python.h has been included.
#if defined(Py_PYTHON_H) && !defined(MEMARRAY_INTEROP_C_API_IMPORT)
#define MEMARRAY_INTEROP_C_API_IMPORT

#if defined(__cplusplus)
extern "C" {
#endif

/// NULL until `memarray_import`. One for all files that an extension is linked from, and no other's.
#if defined(__GNUC__)
__attribute__((weak, visibility("hidden"))) MemArrayAPI const* memarray_api;  // NOLINT: weak, so one for all files
#else
static MemArrayAPI const* memarray_api;
#endif

/// Whether this file's functions are in a table: 0, or −1 with an ImportError that says what to do.
static inline int memarray_check_api(MemArrayAPI const* table) {
  uint32_t const minor = MEMARRAY_C_API_MINOR;  // not compared as a 0 that compilers warn of
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

/// With the GIL: imports memarray and fetches the table into `memarray_api`, once. 0, or −1 with an ImportError, or
/// with what importing memarray raised.
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
