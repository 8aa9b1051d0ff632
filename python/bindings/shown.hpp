#pragma once

#include <Python.h>

#include <string>

namespace memarray::python {

/// Returns the words for an object in messages: its repr if that is short, else its type with its shape or length. At
/// most 80 characters, without contents of arrays, buffers and long sequences. Keeps a pending error and raises none.
[[nodiscard]] std::string shown(PyObject* object);

/// Length of the longest text that is compared with the words an argument may be. Messages do not contain longer text.
inline constexpr Py_ssize_t longest_word = 80;

/// Returns the first line of an exception's message, at most `most` characters; the exception's type if the message is
/// empty.
[[nodiscard]] std::string first_line(PyObject* error, Py_ssize_t most = 200);

}  // namespace memarray::python
