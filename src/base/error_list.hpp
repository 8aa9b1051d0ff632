#pragma once

#include <memarray/base/errors.hpp>

/// Exceptions that are only a message: X(class, suffix of its code in the C API). None derives from another. Catch
/// `OutOfMemoryError`, `CudaError` and their base `Error` afterwards.
#define MEMARRAY_FOR_EACH_ERROR(X)                \
  X(Interrupted, INTERRUPTED)                     \
  X(LockError, LOCK_ERROR)                        \
  X(UnsupportedTypeError, UNSUPPORTED_TYPE_ERROR) \
  X(ValueError, VALUE_ERROR)                      \
  X(TypeError, TYPE_ERROR)                        \
  X(BufferError, BUFFER_ERROR)                    \
  X(IndexError, INDEX_ERROR)                      \
  X(OverflowError, OVERFLOW_ERROR)
