/// @file
/// Arrays and their leases, in C: `memarray_api->arrays`, since version 1.1. The rules of `<memarray/interop/c_api.h>`
/// apply.
///
///     MemArrayLeaseRef lease = memarray_api->arrays->write_array(array, 0, NULL, NULL, 0);
///     float* pixels = (float*)memarray_api->arrays->lease_data(lease, 1);
///     ...                                             // also without the GIL
///     memarray_api->arrays->release_lease(lease);
///
/// - A refused call leaves the array unchanged. Another holder is a `MEMARRAY_LOCK_ERROR`.
/// - Copies by the library are counted, and logged when Python is next called.
/// - `lock_id`: −1, or the id of the caller's write lease.
/// - `stream`: NULL is the default stream. Work on the host is complete when the function returns.

#ifndef MEMARRAY_INTEROP_C_ARRAYS_H
#define MEMARRAY_INTEROP_C_ARRAYS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayArrayAPI {
  /// Size of this struct in bytes.
  size_t size;

  /// Creates a host array, zeroed unless `uninitialized`. `dtype`: NumPy's name, such as float64. `ndim`: 1 to 16.
  /// `device_id`: its CUDA device once it is moved to one.
  __memarray_give MemArrayArrayRef (*create_array)(char const* dtype, int ndim, int64_t const* shape, int device_id,
                                                   int uninitialized);
  /// Returns the array that a `memarray.MemArray` shares; else a TypeError. With the GIL.
  __memarray_give MemArrayArrayRef (*array_from_object)(__memarray_keep void* object);
  /// Returns a new `memarray.MemArray` that shares the array. With the GIL.
  __memarray_give void* (*array_to_object)(__memarray_keep MemArrayArrayRef array);
  /// Creates an array that keeps the memory of a view, writable and dense in C order.
  __memarray_give MemArrayArrayRef (*adopt_view)(__memarray_keep MemArrayViewRef view);
  /// Returns a deep copy, unlocked.
  __memarray_give MemArrayArrayRef (*copy_array)(__memarray_keep MemArrayArrayRef array);
  /// Adds a reference.
  __memarray_give MemArrayArrayRef (*retain_array)(__memarray_keep MemArrayArrayRef array);
  /// Releases one reference. Python, leases and views keep what they share; device memory is freed after its pending
  /// work.
  void (*release_array)(__memarray_take MemArrayArrayRef array);

  /// Returns the dtype's NumPy name, or a struct's C++ name.
  char const* (*array_dtype)(__memarray_keep MemArrayArrayRef array);
  /// Returns the size of an element in bytes.
  size_t (*array_itemsize)(__memarray_keep MemArrayArrayRef array);
  /// Returns the number of dimensions.
  int (*array_ndim)(__memarray_keep MemArrayArrayRef array);
  /// Writes `ndim` extents of one moment: others may resize an unleased array.
  int (*array_shape)(__memarray_keep MemArrayArrayRef array, int64_t* shape);
  /// Returns the number of elements.
  int64_t (*array_size)(__memarray_keep MemArrayArrayRef array);
  /// Writes the device of the contents.
  int (*array_device)(__memarray_keep MemArrayArrayRef array, MemArrayDevice* device);
  /// Returns the writer's lock id; −1 if the array is free or read.
  int64_t (*array_lock_id)(__memarray_keep MemArrayArrayRef array);

  /// Sets every element to the value at `element`, of the array's dtype; on a device as work in the default stream.
  int (*fill_array)(__memarray_keep MemArrayArrayRef array, void const* element, int64_t lock_id);
  /// Gives the array fresh memory of other extents. Leading elements stay, in linear order; others are 0 or a struct's
  /// default.
  int (*resize_array)(__memarray_keep MemArrayArrayRef array, int64_t const* shape);
  /// Makes the copy on `device` current, and fills it if it is stale. `async`: only the array's next user waits for it.
  int (*move_memory)(__memarray_keep MemArrayArrayRef array, MemArrayDevice device,
                     __memarray_keep MemArrayStreamRef stream, int async);

  /// Opens a read lease: the array does not change. `timeout`: seconds to wait for a writer; negative: no limit.
  /// `device`: where the memory is needed; NULL: where it is. `stream`: where the holder uses device memory.
  __memarray_give MemArrayLeaseRef (*read_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                 MemArrayDevice const* device,
                                                 __memarray_keep MemArrayStreamRef stream);
  /// Opens a write lease: the array has no other user. `discard`: drops the old contents, as all will be written.
  /// Otherwise like `read_array`.
  __memarray_give MemArrayLeaseRef (*write_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                  MemArrayDevice const* device,
                                                  __memarray_keep MemArrayStreamRef stream, int discard);
  /// Adds a reference, not another hold.
  __memarray_give MemArrayLeaseRef (*retain_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Releases one reference. The last one closes the lease.
  void (*release_lease)(__memarray_take MemArrayLeaseRef lease);
  /// Closes the lease; ignores closed leases and NULL.
  void (*close_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns 1 if the lease is open.
  int (*lease_is_open)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns a write lease's `lock_id`; −1 for a read or closed lease.
  int64_t (*lease_lock_id)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns the first element, valid while the lease is open; on a device, for work in its stream. Only `writable`
  /// permits writes; `MEMARRAY_BUFFER_ERROR` for a read lease.
  void* (*lease_data)(__memarray_keep MemArrayLeaseRef lease, int writable);
  /// Returns a view of the leased memory, writable under a write lease, which it may outlive.
  __memarray_give MemArrayViewRef (*lease_view)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns a read-only view through a read lease that closes at once: by default a snapshot.
  __memarray_give MemArrayViewRef (*array_view)(__memarray_keep MemArrayArrayRef array);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_ARRAYS_H
