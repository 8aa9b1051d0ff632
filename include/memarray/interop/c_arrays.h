/// @file
/// Arrays and their leases, in C: `memarray_api->arrays`, since version 1.1. `<memarray/interop/c_api.h>` has the
/// rules.
///
///     MemArrayLeaseRef lease = memarray_api->arrays->write_array(array, 0, NULL, NULL, 0);
///     float* pixels = (float*)memarray_api->arrays->lease_data(lease, 1);
///     ...                                             // also without the GIL
///     memarray_api->arrays->release_lease(lease);
///
/// - A refused call leaves the array unchanged. Another holder is a `MEMARRAY_LOCK_ERROR`.
/// - Copies, except by `copy_array`, are counted, and logged when Python is next called.
/// - `lock_id`: −1, or the id of the caller's write lease.
/// - `stream`: NULL is the default stream. Host work is complete on return.

#ifndef MEMARRAY_INTEROP_C_ARRAYS_H
#define MEMARRAY_INTEROP_C_ARRAYS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayArrayAPI {
  /// This struct's size in bytes.
  size_t size;

  /// Creates a host array, zeroed unless `uninitialized`. `dtype`: NumPy's name, such as float64. `ndim`: 1 to 16.
  /// `device_id`: its CUDA device when moved to one.
  __memarray_give MemArrayArrayRef (*create_array)(char const* dtype, int ndim, int64_t const* shape, int device_id,
                                                   int uninitialized);
  /// Returns the array of a `memarray.MemArray`; else a TypeError. With the GIL.
  __memarray_give MemArrayArrayRef (*array_from_object)(__memarray_keep void* object);
  /// Returns a new `memarray.MemArray` that shares the array. With the GIL.
  __memarray_give void* (*array_to_object)(__memarray_keep MemArrayArrayRef array);
  /// Creates an array over the memory of a writable view, dense in C order.
  __memarray_give MemArrayArrayRef (*adopt_view)(__memarray_keep MemArrayViewRef view);
  /// Returns an unlocked deep copy.
  __memarray_give MemArrayArrayRef (*copy_array)(__memarray_keep MemArrayArrayRef array);
  /// Adds a reference.
  __memarray_give MemArrayArrayRef (*retain_array)(__memarray_keep MemArrayArrayRef array);
  /// Releases one reference; Python, leases and views keep their share. Device memory is freed after its pending work.
  void (*release_array)(__memarray_take MemArrayArrayRef array);

  /// Returns the dtype's NumPy name, or a struct's C++ name.
  char const* (*array_dtype)(__memarray_keep MemArrayArrayRef array);
  /// Returns an element's size in bytes.
  size_t (*array_itemsize)(__memarray_keep MemArrayArrayRef array);
  /// Returns the number of dimensions.
  int (*array_ndim)(__memarray_keep MemArrayArrayRef array);
  /// Writes `ndim` extents of one moment: others may resize an unleased array.
  int (*array_shape)(__memarray_keep MemArrayArrayRef array, int64_t* shape);
  /// Returns the number of elements.
  int64_t (*array_size)(__memarray_keep MemArrayArrayRef array);
  /// Writes the contents' device.
  int (*array_device)(__memarray_keep MemArrayArrayRef array, MemArrayDevice* device);
  /// Returns the writer's lock id; −1 if none.
  int64_t (*array_lock_id)(__memarray_keep MemArrayArrayRef array);

  /// Sets every element to the one at `element`, of the array's dtype; on a device in the default stream.
  int (*fill_array)(__memarray_keep MemArrayArrayRef array, void const* element, int64_t lock_id);
  /// Changes the extents, in fresh memory. Leading elements stay, in linear order; others are 0 or a struct's default.
  int (*resize_array)(__memarray_keep MemArrayArrayRef array, int64_t const* shape);
  /// Makes the copy on `device` current, and fills it if stale. `async`: only the next user waits. Refused under any
  /// lease.
  int (*move_memory)(__memarray_keep MemArrayArrayRef array, MemArrayDevice device,
                     __memarray_keep MemArrayStreamRef stream, int async);

  /// Opens a read lease: the array does not change. `timeout`: seconds to wait for a writer; negative: no limit.
  /// `device`: where to use the memory; NULL: where it is. `stream`: of the holder's device work.
  __memarray_give MemArrayLeaseRef (*read_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                 MemArrayDevice const* device,
                                                 __memarray_keep MemArrayStreamRef stream);
  /// Opens a write lease, which excludes other holders. `discard`: drops the contents, as all will be written.
  /// Otherwise like `read_array`.
  __memarray_give MemArrayLeaseRef (*write_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                  MemArrayDevice const* device,
                                                  __memarray_keep MemArrayStreamRef stream, int discard);
  /// Adds a reference, not another hold.
  __memarray_give MemArrayLeaseRef (*retain_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Releases one reference; the last closes the lease.
  void (*release_lease)(__memarray_take MemArrayLeaseRef lease);
  /// Closes the lease; ignores closed leases and NULL.
  void (*close_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns 1 if the lease is open.
  int (*lease_is_open)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns a write lease's `lock_id`; −1 for a read or closed lease.
  int64_t (*lease_lock_id)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns the first element, valid while the lease is open; on a device, for work in its stream. `writable`: for
  /// writing; `MEMARRAY_BUFFER_ERROR` under a read lease.
  void* (*lease_data)(__memarray_keep MemArrayLeaseRef lease, int writable);
  /// Returns a view, writable under a write lease. It may outlive the lease.
  __memarray_give MemArrayViewRef (*lease_view)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns a read-only view through a read lease that closes at once: by default a snapshot.
  __memarray_give MemArrayViewRef (*array_view)(__memarray_keep MemArrayArrayRef array);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_ARRAYS_H
