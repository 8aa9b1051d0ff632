#include <memarray/interop/c_arrays.h>
#include <memarray/interop/c_views.h>
#include <stdio.h>

double column_sum(MemArrayAPI const* api, MemArrayArrayRef array, int64_t column);

/* An array, a lease that keeps others away, and a view: 0 if all is as it should be. */
static int use_array(MemArrayAPI const* api) {
  int64_t const shape[] = {3, 2};
  MemArrayArrayRef const array = api->arrays->create_array("float64", 2, shape, 0, 0);
  MemArrayLeaseRef const lease = api->arrays->write_array(array, 0, NULL, NULL, 0);
  double* const numbers = (double*)api->arrays->lease_data(lease, 1);
  double const one = 1;
  int wrong = 0;
  for (int i = 0; i < 6; ++i) numbers[i] = i;
  wrong += api->arrays->fill_array(array, &one, -1) != -1 || api->get_last_error() != MEMARRAY_LOCK_ERROR;
  api->arrays->release_lease(lease);
  wrong += column_sum(api, array, 1) != 9;
  api->arrays->release_array(array);
  return wrong;
}

/* Uses the table as a C program that links the core. Returns 0 if each result is as expected. */
int main(void) {
  MemArrayAPI const* const api = memarray_c_api();
  MemArrayStreamRef const stream = api->get_legacy_stream();
  int const number = (int)api->stream_as_intptr(stream);
  api->release_stream(stream);
  if (api->get_primary_context(1000)) return 1;
  int const code = api->get_last_error();
  char words[256];
  api->describe_error(code, "looking for a device", words, sizeof words);
  printf("memarray %s, %d devices; %s\n", api->version(), api->device_count(), words);
  return number == 1 && code != 0 && api->peek_last_error() == 0 ? use_array(api) : 1;
}
