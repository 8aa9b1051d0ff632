/// Arrays and their leases, in C: `memarray_api->arrays`, since version 1.1 of the table. The rules of
/// `<memarray/interop/c_api.h>` for refs, failure, the GIL and threads apply here too.
///
///     int64_t const shape[] = {480, 640};
///     MemArrayArrayRef a = memarray_api->arrays->create_array("float32", 2, shape, 0, 0);
///     MemArrayLeaseRef lease = memarray_api->arrays->write_array(a, 0, NULL, NULL, 0);
///     float* pixels = (float*)memarray_api->arrays->lease_data(lease, 1);
///     ...                                             // also without the GIL
///     memarray_api->arrays->release_lease(lease);
///
/// - A refused call leaves the array unchanged. The last error is then a `MemArrayErrorCode`, such as
///   `MEMARRAY_LOCK_ERROR` if the array has another holder, or a `CUresult`.
/// - Copies that the library had to make are counted as always, and logged when Python is next called.
/// - `lock_id`: −1, or the id of a write lease that the caller holds.
/// - `stream`: NULL is the default stream. Work on the host is complete when the function returns.

#ifndef MEMARRAY_INTEROP_C_ARRAYS_H
#define MEMARRAY_INTEROP_C_ARRAYS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayArrayAPI {
  /// Size of this struct in bytes. New entries are added at its end.
  size_t size;

  /// Creates an array on the host. `dtype`: NumPy's name, such as "float64". `ndim`: 1 to 16. Every element is 0 unless
  /// `uninitialized`. `device_id`: the CUDA device that the array belongs to when it is moved to one.
  __memarray_give MemArrayArrayRef (*create_array)(char const* dtype, int ndim, int64_t const* shape, int device_id,
                                                   int uninitialized);
  /// Returns the array of a `memarray.MemArray`, shared and not copied; a TypeError for other objects.
  /// With the GIL only.
  __memarray_give MemArrayArrayRef (*array_from_object)(__memarray_keep void* object);
  /// Returns a new `memarray.MemArray` that shares the array. With the GIL only.
  __memarray_give void* (*array_to_object)(__memarray_keep MemArrayArrayRef array);
  /// Creates an array over the memory of a view, writable and dense in C order, and keeps that memory.
  __memarray_give MemArrayArrayRef (*adopt_view)(__memarray_keep MemArrayViewRef view);
  /// Returns a deep copy, unlocked.
  __memarray_give MemArrayArrayRef (*copy_array)(__memarray_keep MemArrayArrayRef array);
  /// Adds a reference to the array, without a copy. Looks at no lock.
  __memarray_give MemArrayArrayRef (*retain_array)(__memarray_keep MemArrayArrayRef array);
  /// Releases one reference. With the last one the array is destroyed, unless Python shares it. Its leases and views
  /// keep the memory that they need. Device memory is freed in the order of the work that uses it.
  void (*release_array)(__memarray_take MemArrayArrayRef array);

  /// Returns NumPy's name of the dtype, or the C++ name of a struct; valid as long as the ref.
  char const* (*array_dtype)(__memarray_keep MemArrayArrayRef array);
  /// Returns the size of an element in bytes; 0 on failure.
  size_t (*array_itemsize)(__memarray_keep MemArrayArrayRef array);
  /// Returns the number of dimensions.
  int (*array_ndim)(__memarray_keep MemArrayArrayRef array);
  /// Writes `ndim` extents, all of one moment: other code may resize an array that is not leased.
  int (*array_shape)(__memarray_keep MemArrayArrayRef array, int64_t* shape);
  /// Returns the number of elements.
  int64_t (*array_size)(__memarray_keep MemArrayArrayRef array);
  /// Writes the device of the current contents.
  int (*array_device)(__memarray_keep MemArrayArrayRef array, MemArrayDevice* device);
  /// Returns the id under which the array is held for writing; −1 also while it is free or read.
  int64_t (*array_lock_id)(__memarray_keep MemArrayArrayRef array);

  /// Sets every element to the value of the array's dtype at `element`. On a device this is work in the default stream,
  /// which may end after the call; `lease_view` and `fill_view` do it in the lease's stream.
  int (*fill_array)(__memarray_keep MemArrayArrayRef array, void const* element, int64_t lock_id);
  /// Replaces the memory by fresh memory of other extents, as many as before. The leading elements stay, in linear
  /// order; the others are 0, or a struct's default value.
  int (*resize_array)(__memarray_keep MemArrayArrayRef array, int64_t const* shape);
  /// Makes the copy on `device` current, and fills it if it is stale. `async`: that may go on after the call; the next
  /// user of the array waits for it.
  int (*move_memory)(__memarray_keep MemArrayArrayRef array, MemArrayDevice device,
                     __memarray_keep MemArrayStreamRef stream, int async);

  /// Opens a read lease: the array does not change until it is closed. `timeout`: seconds to wait for a writer; 0:
  /// none; negative: no limit. `device`: where the memory is needed; NULL: where it is. `stream`: where the holder uses
  /// device memory.
  __memarray_give MemArrayLeaseRef (*read_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                 MemArrayDevice const* device,
                                                 __memarray_keep MemArrayStreamRef stream);
  /// Opens a write lease: the array has no other user until it is closed. `discard`: the holder writes every element,
  /// so the old contents are dropped. The other parameters are those of `read_array`.
  __memarray_give MemArrayLeaseRef (*write_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                  MemArrayDevice const* device,
                                                  __memarray_keep MemArrayStreamRef stream, int discard);
  /// Adds a reference to the lease, not another hold.
  __memarray_give MemArrayLeaseRef (*retain_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Releases one reference. With the last one the lease is closed.
  void (*release_lease)(__memarray_take MemArrayLeaseRef lease);
  /// Closes the lease now. Does nothing for a closed lease or NULL.
  void (*close_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns 1 if the lease is open; 0 if not, and for NULL.
  int (*lease_is_open)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns the `lock_id` to pass under a write lease; −1 for a read lease, and when the lease is closed.
  int64_t (*lease_lock_id)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns the array's first element, valid while the lease is open; on a device for work in the lease's stream.
  /// `writable`: fails with `MEMARRAY_BUFFER_ERROR` for a read lease. Without it the caller must not write.
  void* (*lease_data)(__memarray_keep MemArrayLeaseRef lease, int writable);
  /// Returns a view of the leased memory, writable under a write lease. It may outlive the lease, as an escaped view.
  __memarray_give MemArrayViewRef (*lease_view)(__memarray_keep MemArrayLeaseRef lease);
  /// Returns a read-only view through a read lease that closes at once. By default it is a snapshot, which later writes
  /// do not change.
  __memarray_give MemArrayViewRef (*array_view)(__memarray_keep MemArrayArrayRef array);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_ARRAYS_H
