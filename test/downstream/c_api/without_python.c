#include <memarray/interop/c_arrays.h>
#include <memarray/interop/c_views.h>
/* Twice, as headers are, and by its short name. */
#include <memarray/c_api.h>
#include <memarray/interop/c_api.h>

#if defined(MEMARRAY_INTEROP_C_API_IMPORT)
#error "memarray_import needs Python.h, which this file does not include"
#endif

/* Callable from either language, as the table's entries are. */
int device_of(MemArrayAPI const* api, MemArrayStreamRef stream);

int device_of(MemArrayAPI const* api, MemArrayStreamRef stream) {
  MemArrayContextRef const context = api->stream_context(stream);
  int const device = api->context_device_id(context);
  api->release_context(context);
  return device;
}

/* The sum of a column, where it is; 0 with the last error set. */
double column_sum(MemArrayAPI const* api, MemArrayArrayRef array, int64_t column);

double column_sum(MemArrayAPI const* api, MemArrayArrayRef array, int64_t column) {
  MemArrayViewRef const view = api->arrays->array_view(array);
  MemArrayViewRef const part = api->views->select_view(view, 1, column);
  MemArrayViewRef const sum = api->views->sum_view(part, 0, NULL);
  double result = 0;
  if (sum) api->views->read_element(sum, &result);
  api->views->release_view(sum);
  api->views->release_view(part);
  api->views->release_view(view);
  return result;
}
