/* The functions of memarray's C API that memarray.f90 declares. The C compiler checks them against the table. */
#include <memarray/interop/c_arrays.h>
#include <memarray/interop/c_views.h>
#include <string.h>

static MemArrayDevice const host = {1, 0};

MemArrayArrayRef memarray_create_array(char const* dtype, int ndim, int64_t const* shape) {
  return memarray_c_api()->arrays->create_array(dtype, ndim, shape, 0, 0);
}

void memarray_release_array(MemArrayArrayRef array) { memarray_c_api()->arrays->release_array(array); }

int memarray_array_is(MemArrayArrayRef array, char const* dtype, int ndim) {
  MemArrayArrayAPI const* const arrays = memarray_c_api()->arrays;
  return arrays->array_ndim(array) == ndim && strcmp(arrays->array_dtype(array), dtype) == 0;
}

int memarray_array_shape(MemArrayArrayRef array, int64_t* shape) {
  return memarray_c_api()->arrays->array_shape(array, shape);
}

MemArrayLeaseRef memarray_read_array(MemArrayArrayRef array) {
  return memarray_c_api()->arrays->read_array(array, 0, &host, NULL);
}

MemArrayLeaseRef memarray_write_array(MemArrayArrayRef array) {
  return memarray_c_api()->arrays->write_array(array, 0, &host, NULL, 0);
}

void memarray_release_lease(MemArrayLeaseRef lease) { memarray_c_api()->arrays->release_lease(lease); }

void* memarray_lease_data(MemArrayLeaseRef lease, int writable) {
  return memarray_c_api()->arrays->lease_data(lease, writable);
}

MemArrayViewRef memarray_array_view(MemArrayArrayRef array) { return memarray_c_api()->arrays->array_view(array); }

MemArrayViewRef memarray_transpose_view(MemArrayViewRef view) {
  return memarray_c_api()->views->transpose_view(view, NULL);
}

void memarray_release_view(MemArrayViewRef view) { memarray_c_api()->views->release_view(view); }

int memarray_view_is(MemArrayViewRef view, char const* dtype, int ndim) {
  MemArrayViewAPI const* const views = memarray_c_api()->views;
  MemArrayDevice device = {0, 0};
  return views->view_device(view, &device) == 0 && device.type == host.type && views->view_ndim(view) == ndim &&
         strcmp(views->view_dtype(view), dtype) == 0;
}

int64_t const* memarray_view_shape(MemArrayViewRef view) { return memarray_c_api()->views->view_shape(view); }

int64_t const* memarray_view_strides(MemArrayViewRef view) { return memarray_c_api()->views->view_strides(view); }

void const* memarray_view_data(MemArrayViewRef view) { return memarray_c_api()->views->view_data(view, 0); }

size_t memarray_last_message(char const* what, char* buffer, size_t size) {
  return memarray_c_api()->describe_error(memarray_c_api()->get_last_error(), what, buffer, size);
}
