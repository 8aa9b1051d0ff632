/// The C API. `<memarray/interop/c_api.h>` has its own guards: it can be included again after Python.h.

#include <memarray/interop/c_api.h>
