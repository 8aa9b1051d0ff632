#pragma once

#include <Python.h>

#include <string>

namespace memarray::python {

/// Describes an object: a repr of at most 80 characters, else the type with its shape or length. Keeps a pending error
/// and raises none.
[[nodiscard]] std::string shown(PyObject* object);

/// Returns the name of an object's type, cut to 60 characters; "nothing" for null.
[[nodiscard]] std::string type_name(PyObject* object);

/// Longest text that is parsed as an option, or shown in messages.
inline constexpr Py_ssize_t longest_word = 80;

/// Returns the first line of an exception's message, cut to `most` characters; its type if that is empty.
[[nodiscard]] std::string first_line(PyObject* error, Py_ssize_t most = 200);

}  // namespace memarray::python
