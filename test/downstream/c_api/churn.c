/* Another file of the extension: it uses the table that module.c imported. */
#include <Python.h>
#include <memarray/interop/c_api.h>

#include "churn.h"

static int once(MemArrayContextRef context) {
  int failed = -1;
  MemArrayStreamRef const stream = memarray_api->create_stream(context, 1, 0);
  MemArrayEventRef const event = memarray_api->create_event(context, 0);
  MemArrayDevicePtrRef const memory = memarray_api->allocate_device(context, 256);
  MemArrayStreamRef const again = memarray_api->retain_stream(stream);
  if (stream && event && memory && again == stream) {
    failed = memarray_api->record_event(event, stream);
    if (!failed) failed = memarray_api->synchronize_event(event);
  }
  memarray_api->release_stream(stream);
  memarray_api->release_device_ptr(memory);
  memarray_api->release_event(event);
  memarray_api->release_stream(again);
  return failed;
}

int churn(int device_id, int rounds) {
  int failed = 0;
  MemArrayContextRef const context = memarray_api->get_primary_context(device_id);
  if (!context) return -1;
  for (int i = 0; i < rounds && !failed; ++i) failed = once(context);
  memarray_api->release_context(context);
  return failed;
}
