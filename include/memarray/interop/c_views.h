/// @file
/// Strided memory of any owner, in C: `memarray_api->views`, since version 1.1. `<memarray/interop/c_api.h>` has the
/// rules.
///
/// - A view is immutable, keeps its memory, and locks nothing: the memory's owner decides about other users. An array's
///   view that outlives its lease is an escaped view.
/// - On a device, operations and results are in the view's stream; work may end after the call.
/// - Copies are counted and logged.
/// - Negative indices and axes count from the end; dimensions do not.

#ifndef MEMARRAY_INTEROP_C_VIEWS_H
#define MEMARRAY_INTEROP_C_VIEWS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayViewAPI {
  /// This struct's size in bytes.
  size_t size;

  /// Returns the view of `memarray.BufferView(object)`. With the GIL.
  __memarray_give MemArrayViewRef (*view_from_object)(__memarray_keep void* object);
  /// Returns a new `memarray.BufferView` of the same memory. With the GIL.
  __memarray_give void* (*view_to_object)(__memarray_keep MemArrayViewRef view);
  /// Allocates uninitialized host memory. `dtype`: NumPy's name, such as float64. `ndim`: 0 to 16.
  __memarray_give MemArrayViewRef (*create_view)(char const* dtype, int ndim, int64_t const* shape);
  /// Adds a reference.
  __memarray_give MemArrayViewRef (*retain_view)(__memarray_keep MemArrayViewRef view);
  /// Releases one reference; other exports keep the memory.
  void (*release_view)(__memarray_take MemArrayViewRef view);

  /// Returns the dtype's NumPy name, or a struct's C++ name.
  char const* (*view_dtype)(__memarray_keep MemArrayViewRef view);
  /// Returns an element's size in bytes.
  size_t (*view_itemsize)(__memarray_keep MemArrayViewRef view);
  /// Returns the number of dimensions.
  int (*view_ndim)(__memarray_keep MemArrayViewRef view);
  /// Returns `ndim` extents.
  int64_t const* (*view_shape)(__memarray_keep MemArrayViewRef view);
  /// Returns `ndim` strides in bytes, also zero or negative.
  int64_t const* (*view_strides)(__memarray_keep MemArrayViewRef view);
  /// Returns the number of elements.
  int64_t (*view_size)(__memarray_keep MemArrayViewRef view);
  /// Writes the memory's device.
  int (*view_device)(__memarray_keep MemArrayViewRef view, MemArrayDevice* device);
  /// Returns 1 if the view is writable.
  int (*view_is_writable)(__memarray_keep MemArrayViewRef view);
  /// Returns 1 if the view is dense in C order.
  int (*view_is_contiguous)(__memarray_keep MemArrayViewRef view);
  /// Returns the element whose indices are all 0; on a device, for work in the view's stream. `writable`: for writing;
  /// `MEMARRAY_BUFFER_ERROR` for a read-only view.
  void* (*view_data)(__memarray_keep MemArrayViewRef view, int writable);

  /// Slices one dimension like Python's `start:stop:step`, clipped. All: 0, INT64_MAX, 1; backwards: INT64_MAX,
  /// INT64_MIN, −1.
  __memarray_give MemArrayViewRef (*slice_view)(__memarray_keep MemArrayViewRef view, int dimension, int64_t start,
                                                int64_t stop, int64_t step);
  /// Returns the view at `index` of `dimension`, without that dimension.
  __memarray_give MemArrayViewRef (*select_view)(__memarray_keep MemArrayViewRef view, int dimension, int64_t index);
  /// Makes the old dimension `axes[i]` the new `i`, for `ndim` axes. NULL reverses all.
  __memarray_give MemArrayViewRef (*transpose_view)(__memarray_keep MemArrayViewRef view, int const* axes);
  /// Returns the elements in C order under another shape; one extent may be −1. `MEMARRAY_VALUE_ERROR` if that takes a
  /// copy.
  __memarray_give MemArrayViewRef (*reshape_view)(__memarray_keep MemArrayViewRef view, int ndim, int64_t const* shape);
  /// Returns a read-only view broadcast to `shape`.
  __memarray_give MemArrayViewRef (*broadcast_view)(__memarray_keep MemArrayViewRef view, int ndim,
                                                    int64_t const* shape);

  /// Returns a dense copy.
  __memarray_give MemArrayViewRef (*copy_view)(__memarray_keep MemArrayViewRef view);
  /// Returns the view if it is dense in C order, else a copy.
  __memarray_give MemArrayViewRef (*contiguous_view)(__memarray_keep MemArrayViewRef view);
  /// Returns a copy, converted by NumPy's `same_kind` rule; else `MEMARRAY_TYPE_ERROR`.
  __memarray_give MemArrayViewRef (*cast_view)(__memarray_keep MemArrayViewRef view, char const* dtype);
  /// Returns the elements on `device`, copied unless they are there. `stream`: of either device; NULL: the view's own,
  /// or the device's default stream for a host view. Blocks until host memory is read or filled.
  __memarray_give MemArrayViewRef (*view_to_device)(__memarray_keep MemArrayViewRef view, MemArrayDevice device,
                                                    __memarray_keep MemArrayStreamRef stream);
  /// Returns the sum over `count` axes, or over all if 0, as a view without them. The dtype is int64 or uint64 for
  /// integers and bool, else the view's. No elements give 0. Fails with `MEMARRAY_INDEX_ERROR` (no such axis),
  /// `MEMARRAY_VALUE_ERROR` (a repeated axis), `MEMARRAY_TYPE_ERROR` (no numbers).
  __memarray_give MemArrayViewRef (*sum_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// Like `sum_view`, for the mean: float64 for integers and bool; NaN for no elements.
  __memarray_give MemArrayViewRef (*mean_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// Like `sum_view`, for the minimum, in the view's dtype; NaN if an element is. `MEMARRAY_VALUE_ERROR` for no
  /// elements.
  __memarray_give MemArrayViewRef (*min_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// Like `min_view`, for the maximum.
  __memarray_give MemArrayViewRef (*max_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);

  /// Sets every element to the one at `element`, of the view's dtype.
  int (*fill_view)(__memarray_keep MemArrayViewRef view, void const* element);
  /// Copies the element whose indices are all 0 to `element`, blocking. `MEMARRAY_INDEX_ERROR` if none.
  int (*read_element)(__memarray_keep MemArrayViewRef view, void* element);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_VIEWS_H
