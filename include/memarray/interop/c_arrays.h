/// Arrays and their leases, in C: `memarray_api->arrays`, since version 1.1 of the table. What
/// `<memarray/interop/c_api.h>` says of refs, failure, the GIL and threads holds here too.
///
///     int64_t const shape[] = {480, 640};
///     MemArrayArrayRef a = memarray_api->arrays->create_array("float32", 2, shape, 0, 0);
///     MemArrayLeaseRef lease = memarray_api->arrays->write_array(a, 0, NULL, NULL, 0);
///     float* pixels = (float*)memarray_api->arrays->lease_data(lease, 1);
///     ...                                             // also without the GIL
///     memarray_api->arrays->release_lease(lease);
///
/// - What is refused leaves the array as it was. The last error is then one of `MemArrayErrorCode`, such as
///   `MEMARRAY_LOCK_ERROR` where somebody else holds the array, or a `CUresult`.
/// - Copies that the library had to make are counted and logged as always, the latter when Python is next called.
/// - `lock_id`: −1, or that of a write lease that the caller holds.
/// - `stream`: NULL is the default stream. What is done on the host is over when the function returns.

#ifndef MEMARRAY_INTEROP_C_ARRAYS_H
#define MEMARRAY_INTEROP_C_ARRAYS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayArrayAPI {
  /// Bytes of this struct, to which entries are added at its end.
  size_t size;

  /// A new array on the host. `dtype`: NumPy's name, such as "float64". `ndim`: 1 to 16. Every element is 0 unless
  /// `uninitialized`. `device_id`: the CUDA device that it belongs to when it is moved to one.
  __memarray_give MemArrayArrayRef (*create_array)(char const* dtype, int ndim, int64_t const* shape, int device_id,
                                                   int uninitialized);
  /// With the GIL: the array that a `memarray.MemArray` shows. Shared, not copied. NULL with a TypeError for others.
  __memarray_give MemArrayArrayRef (*array_from_object)(__memarray_keep void* object);
  /// With the GIL: a new `memarray.MemArray` that shares the array; NULL with the Python error set.
  __memarray_give void* (*array_to_object)(__memarray_keep MemArrayArrayRef array);
  /// An array over the memory of a view, which it keeps: writable and dense in C order.
  __memarray_give MemArrayArrayRef (*adopt_view)(__memarray_keep MemArrayViewRef view);
  /// A deep copy, born unlocked.
  __memarray_give MemArrayArrayRef (*copy_array)(__memarray_keep MemArrayArrayRef array);
  /// One more reference to the same array, not a copy; NULL for NULL. Cannot fail, and looks at no lock.
  __memarray_give MemArrayArrayRef (*retain_array)(__memarray_keep MemArrayArrayRef array);
  /// Gives one reference back. With the last one the array goes, unless Python shows it; its leases and views keep what
  /// they need. Memory on a device is freed in the order of the work that uses it. Nothing happens for NULL.
  void (*release_array)(__memarray_take MemArrayArrayRef array);

  /// NumPy's name of its dtype, or that of a struct as C++ spells it; as long as the ref.
  char const* (*array_dtype)(__memarray_keep MemArrayArrayRef array);
  /// Bytes of an element; 0 on failure.
  size_t (*array_itemsize)(__memarray_keep MemArrayArrayRef array);
  /// −1 on failure, as `array_size`.
  int (*array_ndim)(__memarray_keep MemArrayArrayRef array);
  /// Writes `ndim` extents, those of one moment: others may resize an array that nobody leases. 0, or −1.
  int (*array_shape)(__memarray_keep MemArrayArrayRef array, int64_t* shape);
  /// The number of elements.
  int64_t (*array_size)(__memarray_keep MemArrayArrayRef array);
  /// Where its current contents are. 0, or −1.
  int (*array_device)(__memarray_keep MemArrayArrayRef array, MemArrayDevice* device);
  /// The id that it is held for writing under; −1 while it is free or read, and on failure.
  int64_t (*array_lock_id)(__memarray_keep MemArrayArrayRef array);

  /// Sets every element to the one of the array's dtype at `element`; on a device in the default stream (`lease_view`
  /// and `fill_view` do it in the lease's), perhaps after the call. 0, or −1.
  int (*fill_array)(__memarray_keep MemArrayArrayRef array, void const* element, int64_t lock_id);
  /// Fresh memory of as many dimensions; the leading elements stay, in linear order, the others are 0. 0, or −1.
  int (*resize_array)(__memarray_keep MemArrayArrayRef array, int64_t const* shape);
  /// Makes the copy on that device current: copies if it is stale. `async`: that may go on when the function returns;
  /// whoever uses the array next waits for it. 0, or −1.
  int (*move_memory)(__memarray_keep MemArrayArrayRef array, MemArrayDevice device,
                     __memarray_keep MemArrayStreamRef stream, int async);

  /// An open read lease: nobody changes the array until it is closed. `timeout`: seconds to wait for a writer, 0: none,
  /// below 0: as long as it takes. `device`: where the memory is wanted; NULL: where it is. `stream`: in which its
  /// holder uses it there.
  __memarray_give MemArrayLeaseRef (*read_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                 MemArrayDevice const* device,
                                                 __memarray_keep MemArrayStreamRef stream);
  /// An open write lease: nobody else uses the array until it is closed. `discard`: its holder writes everything, so
  /// the old contents are given up.
  __memarray_give MemArrayLeaseRef (*write_array)(__memarray_keep MemArrayArrayRef array, double timeout,
                                                  MemArrayDevice const* device,
                                                  __memarray_keep MemArrayStreamRef stream, int discard);
  /// One more reference to the same lease, not another hold; NULL for NULL. Cannot fail.
  __memarray_give MemArrayLeaseRef (*retain_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Gives one reference back; with the last one the lease is closed. Nothing happens for NULL.
  void (*release_lease)(__memarray_take MemArrayLeaseRef lease);
  /// Closes it now. Nothing happens the second time, nor for NULL.
  void (*close_lease)(__memarray_keep MemArrayLeaseRef lease);
  /// Whether it is open: 1 or 0; 0 for NULL.
  int (*lease_is_open)(__memarray_keep MemArrayLeaseRef lease);
  /// What a write lease's holder passes as `lock_id`; −1 for a read lease, and when it is over.
  int64_t (*lease_lock_id)(__memarray_keep MemArrayLeaseRef lease);
  /// The array's first element, as long as the lease is open; on a device for work in the lease's stream. `writable`:
  /// a `MEMARRAY_BUFFER_ERROR` of a read lease; without it nothing is written.
  void* (*lease_data)(__memarray_keep MemArrayLeaseRef lease, int writable);
  /// A view of what is leased, writable under a write lease. It may outlive the lease, as an escaped view.
  __memarray_give MemArrayViewRef (*lease_view)(__memarray_keep MemArrayLeaseRef lease);
  /// A read-only view through a read lease that closes at once: by default a snapshot, which later writes leave behind.
  __memarray_give MemArrayViewRef (*array_view)(__memarray_keep MemArrayArrayRef array);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_ARRAYS_H
