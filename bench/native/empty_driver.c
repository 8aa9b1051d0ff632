// A driver of functions that do nothing, to measure the cost of memarray's handles alone. The benchmark puts its folder
// first in LD_LIBRARY_PATH.
#include <string.h>

static int context;

// Returns success for any parameters: callers clean up after calls, by the platform's convention.
static int nothing(void) { return 0; }

static int give_context(void** result) {
  *result = &context;
  return 0;
}

static int give_count(int* count) {
  *count = 1;
  return 0;
}

int cuGetProcAddress_v2(char const* name, void** function, int version, unsigned long long flags, void* status) {
  (void)version;
  (void)flags;
  (void)status;
  int const gives = strcmp(name, "cuCtxGetCurrent") == 0 || strcmp(name, "cuDevicePrimaryCtxRetain") == 0;
  int const counts = strcmp(name, "cuDeviceGetCount") == 0;
  *function = gives ? (void*)give_context : counts ? (void*)give_count : (void*)nothing;
  return 0;
}
