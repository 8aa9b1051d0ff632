#pragma once

#include <Python.h>

#include <string>

namespace memarray::python {

/// How messages name an object: its repr where that is short, else its type with its shape or length. At most 80
/// characters, and no contents of arrays, buffers and long sequences. Keeps the pending error; raises none.
[[nodiscard]] std::string shown(PyObject* object);

/// Text that is longer is none of the words that an argument may be, and is not put into a message.
inline constexpr Py_ssize_t longest_word = 80;

/// The first line of an exception's message, at most `most` characters; its type where the message is empty.
[[nodiscard]] std::string first_line(PyObject* error, Py_ssize_t most = 200);

}  // namespace memarray::python
