#include <memarray/interop/c_api.h>
#include <stdio.h>

/* What a program in C sees that links the core: 0 if all is as it should be. */
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
  return number == 1 && code != 0 && api->peek_last_error() == 0 ? 0 : 1;
}
