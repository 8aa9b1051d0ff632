#pragma once

#include <Python.h>

#include <array>
#include <cstddef>

namespace memarray::python {

template <class Function>
[[nodiscard]] PyCFunction as_method(Function* function) noexcept {
  // g++ warns about a direct cast between function types.
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));  // NOLINT(bugprone-casting-through-void)
}

/// A parser of METH_FASTCALL | METH_KEYWORDS arguments, at most `positional` of them positional. `parse` leaves slots
/// of omitted arguments alone.
template <std::size_t count>
class Signature {
 public:
  constexpr Signature(char const* function, std::array<char const*, count> names, std::size_t positional) noexcept
      : _function(function), _names(names), _positional(positional) {}

  /// Interns the names. Call once, before `parse`.
  bool intern() noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (!_interned[i]) _interned[i] = PyUnicode_InternFromString(_names[i]);
      if (!_interned[i]) return false;
    }
    return true;
  }

  bool parse(PyObject* const* args, Py_ssize_t positional, PyObject* keywords,
             std::array<PyObject*, count>& slots) const noexcept {
    return visit(args, positional, keywords, [&](std::size_t i, PyObject* value) {
      slots[i] = value;
      return true;
    });
  }

  /// Calls `take(slot, value)` for each argument. Returns false once a call does.
  template <class Take>
  bool visit(PyObject* const* args, Py_ssize_t positional, PyObject* keywords, Take&& take) const noexcept {
    if (positional > static_cast<Py_ssize_t>(_positional)) {
      PyErr_Format(PyExc_TypeError, "%s() takes %zu positional arguments but %zd were given", _function, _positional,
                   positional);
      return false;
    }
    for (Py_ssize_t i = 0; i < positional; ++i)
      if (!take(static_cast<std::size_t>(i), args[i])) return false;
    if (!keywords) return true;
    Py_ssize_t const given = PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < given; ++k) {
      PyObject* const name = PyTuple_GET_ITEM(keywords, k);
      std::size_t i = 0;
      while (i < count && _interned[i] != name) ++i;
      if (i == count)
        for (i = 0; i < count; ++i)
          if (PyUnicode_CompareWithASCIIString(name, _names[i]) == 0) break;
      if (i == count) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%.80U'", _function, name);
        return false;
      }
      if (static_cast<Py_ssize_t>(i) < positional) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", _function, _names[i]);
        return false;
      }
      if (!take(i, args[positional + k])) return false;
    }
    return true;
  }

 private:
  char const* _function;
  std::array<char const*, count> _names;
  std::array<PyObject*, count> _interned{};
  std::size_t _positional;
};

}  // namespace memarray::python
