#include <memarray/interop/c_api.h>
/* Twice, as headers are. */
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
