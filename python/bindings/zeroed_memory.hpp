#pragma once

#include <memarray/base/errors.hpp>

#include <cstddef>
#include <cstring>
#include <new>

namespace memarray::python {

/// A base of classes that Python makes: pybind11 exposes objects whose `__init__` has not run or has failed.
class ZeroedMemory {
 public:
  static void* operator new(std::size_t bytes) { return std::memset(::operator new(bytes), 0, bytes); }
  static void* operator new(std::size_t, void* at) noexcept { return at; }
  static void operator delete(void* object) noexcept { ::operator delete(object); }
};

inline void check_initialized(bool is_initialized) {
  if (!is_initialized) throw TypeError("__init__ of the base class was not called, or it failed");
}

}  // namespace memarray::python
