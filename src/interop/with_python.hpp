#pragma once

#include "objects.hpp"

#include <memarray/base/hooks.hpp>

namespace memarray::detail {

/// With the GIL: what `body(python)` returns; null with the Python error set where it throws, or without `memarray`.
template <class Result, class Body>
Result* with_python(Body const& body) noexcept {
  ObjectBridge const* const python = object_bridge();
  if (!python) return nullptr;
  Result* result = nullptr;
  try {
    result = body(*python);
  } catch (...) {
    hooks().raise();
  }
  python->log_reports();
  return result;
}

}  // namespace memarray::detail
