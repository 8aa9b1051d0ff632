/// Strided memory of whoever owns it, in C: `memarray_api->views`, since version 1.1 of the table. What
/// `<memarray/interop/c_api.h>` says of refs, failure, the GIL and threads holds here too.
///
///     MemArrayViewRef view = memarray_api->views->view_from_object(object);  // a NumPy array, a tensor, …
///     int64_t const* shape = memarray_api->views->view_shape(view);
///     int64_t const* strides = memarray_api->views->view_strides(view);
///     char const* data = (char const*)memarray_api->views->view_data(view, 0);
///
/// - A view never changes: what cuts or turns it makes another view of the same memory, which each of them keeps.
/// - It is no lease. Who else uses the memory meanwhile is its owner's affair; a view of an array that is still there
///   when its lease is over is an escaped view.
/// - On a device, operations are work in the view's stream, which may end after the call, and results are views in that
///   stream.
/// - The last error is one of `MemArrayErrorCode` or a `CUresult`. Copies are counted and logged as always.

#ifndef MEMARRAY_INTEROP_C_VIEWS_H
#define MEMARRAY_INTEROP_C_VIEWS_H

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct MemArrayViewAPI {
  /// Bytes of this struct, to which entries are added at its end.
  size_t size;

  /// With the GIL: a view of what any object lends by `memarray.BufferView(object)`, which it keeps. NULL with the
  /// Python error set.
  __memarray_give MemArrayViewRef (*view_from_object)(__memarray_keep void* object);
  /// With the GIL: a new `memarray.BufferView` of the same memory; NULL with the Python error set.
  __memarray_give void* (*view_to_object)(__memarray_keep MemArrayViewRef view);
  /// New, uninitialised memory on the host. `dtype`: NumPy's name, such as "float64". `ndim`: 0 to 16.
  __memarray_give MemArrayViewRef (*create_view)(char const* dtype, int ndim, int64_t const* shape);
  /// One more reference to the same view; NULL for NULL. Cannot fail.
  __memarray_give MemArrayViewRef (*retain_view)(__memarray_keep MemArrayViewRef view);
  /// Gives one reference back. With the last one the view lets go of its memory, whose owner is told when nobody else
  /// keeps it. Nothing happens for NULL.
  void (*release_view)(__memarray_take MemArrayViewRef view);

  /// NumPy's name of its dtype, or that of a struct as C++ spells it; as long as the ref.
  char const* (*view_dtype)(__memarray_keep MemArrayViewRef view);
  /// Bytes of an element; 0 on failure.
  size_t (*view_itemsize)(__memarray_keep MemArrayViewRef view);
  /// −1 on failure, as `view_size`.
  int (*view_ndim)(__memarray_keep MemArrayViewRef view);
  /// `ndim` extents, as long as the ref.
  int64_t const* (*view_shape)(__memarray_keep MemArrayViewRef view);
  /// For each dimension the bytes from one index to the next, which may be 0 or less; as long as the ref.
  int64_t const* (*view_strides)(__memarray_keep MemArrayViewRef view);
  /// The number of elements.
  int64_t (*view_size)(__memarray_keep MemArrayViewRef view);
  /// Where the memory is. 0, or −1.
  int (*view_device)(__memarray_keep MemArrayViewRef view, MemArrayDevice* device);
  /// Whether it may be written: 1 or 0; 0 for NULL.
  int (*view_is_writable)(__memarray_keep MemArrayViewRef view);
  /// Whether it is dense in C order: 1 or 0; 0 for NULL.
  int (*view_is_contiguous)(__memarray_keep MemArrayViewRef view);
  /// The element whose indices are all 0, as long as the ref; on a device for work in the view's stream. `writable`: a
  /// `MEMARRAY_BUFFER_ERROR` of a read-only view; without it nothing is written.
  void* (*view_data)(__memarray_keep MemArrayViewRef view, int writable);

  /// A range of one dimension, as Python's `view[start:stop:step]`: numbers below zero count from the end, what lies
  /// outside is cut off. All of it: 0, INT64_MAX, 1; all of it backwards: INT64_MAX, INT64_MIN, −1.
  __memarray_give MemArrayViewRef (*slice_view)(__memarray_keep MemArrayViewRef view, int dimension, int64_t start,
                                                int64_t stop, int64_t step);
  /// One index of a dimension, below zero from the end; without that dimension.
  __memarray_give MemArrayViewRef (*select_view)(__memarray_keep MemArrayViewRef view, int dimension, int64_t index);
  /// The dimension `i` is the old `axes[i]`, of which there are `ndim`; NULL: all in reverse.
  __memarray_give MemArrayViewRef (*transpose_view)(__memarray_keep MemArrayViewRef view, int const* axes);
  /// The same elements in C order under another shape, one of whose extents may be −1: what is left. A
  /// `MEMARRAY_VALUE_ERROR` where that takes a copy.
  __memarray_give MemArrayViewRef (*reshape_view)(__memarray_keep MemArrayViewRef view, int ndim, int64_t const* shape);
  /// One element at many indices, so read-only.
  __memarray_give MemArrayViewRef (*broadcast_view)(__memarray_keep MemArrayViewRef view, int ndim,
                                                    int64_t const* shape);

  /// Dense memory of its own with the same elements, as all that follow.
  __memarray_give MemArrayViewRef (*copy_view)(__memarray_keep MemArrayViewRef view);
  /// The view itself, as another ref, where it is dense in C order.
  __memarray_give MemArrayViewRef (*contiguous_view)(__memarray_keep MemArrayViewRef view);
  /// With another dtype, within a kind of number.
  __memarray_give MemArrayViewRef (*cast_view)(__memarray_keep MemArrayViewRef view, char const* dtype);
  /// On another device or the host; where it is there, the same memory. `stream`: of either device; NULL: the view's
  /// own. From the host it returns when the memory was read, to the host when it is there.
  __memarray_give MemArrayViewRef (*view_to_device)(__memarray_keep MemArrayViewRef view, MemArrayDevice device,
                                                    __memarray_keep MemArrayStreamRef stream);
  /// The sum over `count` axes, below zero from the end; over all if `count` is 0. The result has the other dimensions,
  /// and is of int64 or uint64 for integers and bool, else of the view's dtype; 0 where there is nothing to add. A
  /// `MEMARRAY_INDEX_ERROR` for an axis that it lacks, a `MEMARRAY_VALUE_ERROR` for one given twice, a
  /// `MEMARRAY_TYPE_ERROR` for elements that are no numbers.
  __memarray_give MemArrayViewRef (*sum_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// The mean, over axes as in `sum_view`: of float64 for integers and bool, else of the view's dtype; NaN where there
  /// are no elements. The same errors.
  __memarray_give MemArrayViewRef (*mean_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// The least element, over axes as in `sum_view`, of the view's dtype; NaN where one is. The same errors, and a
  /// `MEMARRAY_VALUE_ERROR` where there are no elements.
  __memarray_give MemArrayViewRef (*min_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);
  /// The greatest element, as `min_view`.
  __memarray_give MemArrayViewRef (*max_view)(__memarray_keep MemArrayViewRef view, int count, int const* axes);

  /// Sets every element to the one of the view's dtype at `element`. 0, or −1.
  int (*fill_view)(__memarray_keep MemArrayViewRef view, void const* element);
  /// Copies the element whose indices are all 0 to `element` on the host, and waits for it. 0, or −1.
  int (*read_element)(__memarray_keep MemArrayViewRef view, void* element);
};

#if defined(__cplusplus)
}
#endif
#endif  // MEMARRAY_INTEROP_C_VIEWS_H
