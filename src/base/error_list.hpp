#pragma once

#include <memarray/base/errors.hpp>

/// The exceptions that consist of a message: X(class, suffix of its code in the C API). No class of the list derives
/// from another one. Catch `OutOfMemoryError` and `CudaError`, which carry a code, and `Error`, the base of some,
/// afterwards.
#define MEMARRAY_FOR_EACH_ERROR(X)                \
  X(Interrupted, INTERRUPTED)                     \
  X(LockError, LOCK_ERROR)                        \
  X(UnsupportedTypeError, UNSUPPORTED_TYPE_ERROR) \
  X(ValueError, VALUE_ERROR)                      \
  X(TypeError, TYPE_ERROR)                        \
  X(BufferError, BUFFER_ERROR)                    \
  X(IndexError, INDEX_ERROR)                      \
  X(OverflowError, OVERFLOW_ERROR)
