/// memarray for code that does not link it. Brings `<memarray/interop/c_api.h>`, whose own guards let it be included
/// again after Python.h.

#include <memarray/interop/c_api.h>
