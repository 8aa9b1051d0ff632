/// Strided memory of any owner, in C: `memarray_api->views`, since version 1.1 of the table. The rules of
/// `<memarray/interop/c_api.h>` for refs, failure, the GIL and threads apply here too.
///
///     MemArrayViewRef view = memarray_api->views->view_from_object(object);  // a NumPy array, a tensor, …
///     int64_t const* shape = memarray_api->views->view_shape(view);
///     int64_t const* strides = memarray_api->views->view_strides(view);
///     char const* data = (char const*)memarray_api->views->view_data(view, 0);
///
/// - A view never changes. Functions that slice or transpose make another view of the same memory; each view keeps the
///   memory.
/// - A view is no lease: the memory's owner decides about other users. A view of an array that is alive after its lease
///   has closed is an escaped view.
/// - On a device, operations are work in the view's stream, which may end after the call. Results are views in that
///   stream.
/// - The last error is a `MemArrayErrorCode` or a `CUresult`. Copies are counted and logged as always.

#ifndef MEMARRAY_INTEROP_C_VIEWS_H
#define MEMARRAY_INTEROP_C_VIEWS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayViewAPI {
  /// Size of this struct in bytes. New entries are added at its end.
  size_t size;

  /// Returns the view that `memarray.BufferView(object)` makes, which keeps the memory. With the GIL only.
  __memarray_give MemArrayViewRef (*view_from_object)(__memarray_keep void* object);
  /// Returns a new `memarray.BufferView` of the same memory. With the GIL only.
  __memarray_give void* (*view_to_object)(__memarray_keep MemArrayViewRef view);
  /// Allocates uninitialized memory on the host. `dtype`: NumPy's name, such as "float64". `ndim`: 0 to 16.
  __memarray_give MemArrayViewRef (*create_view)(char const* dtype, int ndim, int64_t const* shape);
  /// Adds a reference.
  __memarray_give MemArrayViewRef (*retain_view)(__memarray_keep MemArrayViewRef view);
  /// Releases one reference. With the last one the view releases its memory, and with the memory's last export its
  /// owner.
  void (*release_view)(__memarray_take MemArrayViewRef view);

  /// Returns NumPy's name of the dtype, or the C++ name of a struct; valid as long as the ref.
  char const* (*view_dtype)(__memarray_keep MemArrayViewRef view);
  /// Returns the size of an element in bytes; 0 on failure.
  size_t (*view_itemsize)(__memarray_keep MemArrayViewRef view);
  /// Returns the number of dimensions.
  int (*view_ndim)(__memarray_keep MemArrayViewRef view);
  /// Returns `ndim` extents, valid as long as the ref.
  int64_t const* (*view_shape)(__memarray_keep MemArrayViewRef view);
  /// Returns `ndim` strides in bytes, each of which may be 0 or negative; valid as long as the ref.
  int64_t const* (*view_strides)(__memarray_keep MemArrayViewRef view);
  /// Returns the number of elements.
  int64_t (*view_size)(__memarray_keep MemArrayViewRef view);
  /// Writes the device of the memory.
  int (*view_device)(__memarray_keep MemArrayViewRef view, MemArrayDevice* device);
  /// Returns 1 if the view may be written; 0 if not, and for NULL.
  int (*view_is_writable)(__memarray_keep MemArrayViewRef view);
  /// Returns 1 if the view is dense in C order; 0 if not, and for NULL.
  int (*view_is_contiguous)(__memarray_keep MemArrayViewRef view);
  /// Returns the element whose indices are all 0, valid as long as the ref; on a device for work in the view's stream.
  /// `writable`: fails with `MEMARRAY_BUFFER_ERROR` for a read-only view. Without it the caller must not write.
  void* (*view_data)(__memarray_keep MemArrayViewRef view, int writable);

  /// Returns a range of one dimension, like Python's `view[start:stop:step]`: negative numbers count from the end, and
  /// the range is clipped. All of it: 0, INT64_MAX, 1; all of it backwards: INT64_MAX, INT64_MIN, −1.
  __memarray_give MemArrayViewRef (*slice_view)(__memarray_keep MemArrayViewRef view, int dimension, int64_t start,
                                                int64_t stop, int64_t step);
  /// Returns one index of a dimension, negative from the end; the result lacks that dimension.
  __memarray_give MemArrayViewRef (*select_view)(__memarray_keep MemArrayViewRef view, int dimension, int64_t index);
  /// Returns a view whose dimension `i` is the old `axes[i]`, of which there are `ndim`. NULL reverses all dimensions.
  __memarray_give MemArrayViewRef (*transpose_view)(__memarray_keep MemArrayViewRef view, int const* axes);
  /// Returns the elements in C order under another shape. One extent may be −1 and is then computed from the others.
  /// Fails with `MEMARRAY_VALUE_ERROR` if that takes a copy.
  __memarray_give MemArrayViewRef (*reshape_view)(__memarray_keep MemArrayViewRef view, int ndim, int64_t const* shape);
  /// Returns a view broadcast to `shape`: read-only, as an element may have many indices.
  __memarray_give MemArrayViewRef (*broadcast_view)(__memarray_keep MemArrayViewRef view, int ndim,
                                                    int64_t const* shape);

  /// Returns a copy in new, dense memory.
  __memarray_give MemArrayViewRef (*copy_view)(__memarray_keep MemArrayViewRef view);
  /// Returns another ref to the view if it is dense in C order, else a copy.
  __memarray_give MemArrayViewRef (*contiguous_view)(__memarray_keep MemArrayViewRef view);
  /// Returns a copy with another dtype, converted within a kind of number.
  __memarray_give MemArrayViewRef (*cast_view)(__memarray_keep MemArrayViewRef view, char const* dtype);
  /// Returns the elements on another device or the host: the same memory if it is there, else a copy. `stream`: of
  /// either device; NULL: the view's own. From the host, returns when the memory has been read; to the host, when the
  /// copy is complete.
  __memarray_give MemArrayViewRef (*view_to_device)(__memarray_keep MemArrayViewRef view, MemArrayDevice device,
                                                    __memarray_keep MemArrayStreamRef stream);
  /// Returns the sum over `count` axes, negative from the end, or over all if `count` is 0, in new memory. The result
  /// has the other dimensions. Its dtype is int64 or uint64 for integers and bool, else the view's. The sum of no
  /// elements is 0. Fails with `MEMARRAY_INDEX_ERROR` for a missing axis, `MEMARRAY_VALUE_ERROR` for a repeated axis,
  /// `MEMARRAY_TYPE_ERROR` for elements that are no numbers.
  __memarray_give MemArrayViewRef (*sum_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// Returns the mean, with the axes and errors of `sum_view`, in new memory. Its dtype is float64 for integers and
  /// bool, else the view's. The mean of no elements is NaN.
  __memarray_give MemArrayViewRef (*mean_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// Returns the minimum, with the axes and errors of `sum_view`, of the view's dtype, in new memory; NaN if an element
  /// is NaN. Fails with `MEMARRAY_VALUE_ERROR` if there are no elements.
  __memarray_give MemArrayViewRef (*min_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// Returns the maximum, otherwise like `min_view`.
  __memarray_give MemArrayViewRef (*max_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);

  /// Sets every element to the value of the view's dtype at `element`.
  int (*fill_view)(__memarray_keep MemArrayViewRef view, void const* element);
  /// Copies the element whose indices are all 0 to `element` on the host, and waits for it. Fails with
  /// `MEMARRAY_INDEX_ERROR` if there is none.
  int (*read_element)(__memarray_keep MemArrayViewRef view, void* element);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_VIEWS_H
