#include "array/struct_dtype.hpp"

#include "py_ref.hpp"
#include "view/elements.hpp"

#include <memarray/base/errors.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace memarray::python {
namespace {

PyRef describe(StructFields const& fields);

PyRef shape_of(StructField const& field) {
  PyRef shape = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(field.extents.size())));
  for (std::size_t d = 0; shape && d < field.extents.size(); ++d) {
    PyObject* const extent = PyLong_FromUnsignedLong(field.extents[d]);
    if (!extent) return {};
    PyTuple_SET_ITEM(shape.get(), static_cast<Py_ssize_t>(d), extent);
  }
  return shape;
}

PyRef describe(StructFields const& fields) {
  PyRef list = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(fields.list.size())));
  if (!list) return {};
  Py_ssize_t place = 0;
  for (StructField const& field : fields.list) {
    PyRef type = field.nested ? describe(*field.nested) : PyRef::steal(PyUnicode_FromString(field.typestr.c_str()));
    PyRef shape = shape_of(field);
    if (!type || !shape) return {};
    PyObject* const one = Py_BuildValue("(sINN)", field.name.c_str(), field.offset, type.release(), shape.release());
    if (!one) return {};
    PyTuple_SET_ITEM(list.get(), place++, one);
  }
  return PyRef::steal(Py_BuildValue("(IN)", fields.itemsize, list.release()));
}

std::uint32_t alignment_of(StructFields const& fields);

std::uint32_t alignment_of(StructField const& field) {
  if (field.nested) return alignment_of(*field.nested);
  char const kind = field.typestr[1];
  if (kind == 'S' || kind == 'V') return 1;
  return field_itemsize(field.typestr) / (kind == 'c' ? 2 : 1);
}

/// Returns the alignment in C; 1 if the struct is packed.
std::uint32_t alignment_of(StructFields const& fields) {
  std::uint32_t alignment = 1;
  bool is_packed = false;
  for (StructField const& field : fields.list) {
    // Once: each level of nested structs would double the calls.
    std::uint32_t const own = alignment_of(field);
    alignment = std::max(alignment, own);
    is_packed = is_packed || field.offset % own != 0;
  }
  return is_packed || fields.itemsize % alignment != 0 ? 1 : alignment;
}

/// Reads a description, as in the header. Throws `ValueError`.
StructFields const* read(PyObject* description) {
  std::uint32_t itemsize = 0;
  PyObject* list = nullptr;
  if (!PyArg_ParseTuple(description, "IO!", &itemsize, &PyTuple_Type, &list)) return nullptr;
  StructFields fields;
  fields.itemsize = itemsize;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list); ++i) {
    StructField& field = fields.list.emplace_back();
    char const* name = nullptr;
    PyObject *type = nullptr, *shape = nullptr;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(list, i), "sIOO!", &name, &field.offset, &type, &PyTuple_Type, &shape))
      return nullptr;
    field.name = name;
    if (PyTuple_Check(type)) {
      field.nested = read(type);
      if (!field.nested) return nullptr;
    } else {
      char const* const typestr = PyUnicode_AsUTF8(type);
      if (!typestr) return nullptr;
      field.typestr = typestr;
      // `alignment_of` relies on this check.
      if (field_itemsize(field.typestr) == 0)
        throw ValueError("field " + field.name + " is of '" + field.typestr +
                         "': expected a bool, a number, text of bytes (S) or plain bytes (V), in native byte order");
    }
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape); ++d) {
      unsigned long const extent = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(shape, d));
      if (PyErr_Occurred()) return nullptr;
      field.extents.push_back(static_cast<std::uint32_t>(extent));
    }
  }
  return intern_struct(itemsize, alignment_of(fields), fields.list);
}

PyRef read_value(StructField const& field, std::byte const* data) {
  if (field.nested) return PyRef::steal(read_fields(*field.nested, data));
  std::uint32_t const size = field_itemsize(field.typestr);
  auto const* const text = reinterpret_cast<char const*>(data);
  std::uint8_t code = 0;
  switch (field.typestr[1]) {
    case 'b': code = kDLBool; break;
    case 'i': code = kDLInt; break;
    case 'u': code = kDLUInt; break;
    case 'f': code = kDLFloat; break;
    case 'c': code = kDLComplex; break;
    case 'S': {
      std::size_t const length = std::string_view(text, size).find_last_not_of('\0') + 1;
      return PyRef::steal(PyBytes_FromStringAndSize(text, static_cast<Py_ssize_t>(length)));
    }
    default: return PyRef::steal(PyBytes_FromStringAndSize(text, static_cast<Py_ssize_t>(size)));
  }
  DType const* const dtype = find_dtype(DLDataType{code, static_cast<std::uint8_t>(size * 8), 1});
  return PyRef::steal(read_element(*dtype, data));
}

/// Returns a field's value, as nested lists from dimension `d` on, and advances `data`.
PyRef read_values(StructField const& field, std::size_t d, std::byte const*& data) {
  if (d == field.extents.size()) {
    PyRef value = read_value(field, data);
    data += field.nested ? field.nested->itemsize : field_itemsize(field.typestr);
    return value;
  }
  PyRef list = PyRef::steal(PyList_New(0));
  for (std::uint32_t i = 0; list && i < field.extents[d]; ++i) {
    PyRef const value = read_values(field, d + 1, data);
    if (!value || PyList_Append(list.get(), value.get()) != 0) return {};
  }
  return list;
}

bool append(PyRef const& list, PyRef item) { return item && PyList_Append(list.get(), item.get()) == 0; }

bool append_padding(PyRef const& list, std::uint32_t bytes) {
  return bytes == 0 || append(list, PyRef::steal(Py_BuildValue("(sN)", "", PyUnicode_FromFormat("|V%u", bytes))));
}

}  // namespace

PyObject* typestr_of(DType const& dtype) {
  return dtype.fields ? describe(*dtype.fields).release() : PyUnicode_FromString(dtype.typestr);
}

DType const* dtype_described(PyObject* description) {
  if (!PyTuple_Check(description)) {
    char const* const name = PyUnicode_AsUTF8(description);
    DType const* const dtype = name ? find_dtype(std::string_view(name)) : nullptr;
    if (name && !dtype)
      PyErr_Format(PyExc_BufferError, "memarray has no dtype for elements of %.80s: convert them with .astype() first",
                   name);
    return dtype;
  }
  try {
    StructFields const* const fields = read(description);
    return fields ? &fields->dtype : nullptr;
  } catch (ValueError const& error) {
    PyErr_Format(PyExc_BufferError, "memarray has no dtype for this struct: %.300s", error.what());
    return nullptr;
  }
}

PyObject* descr_of(StructFields const& fields) {
  PyRef list = PyRef::steal(PyList_New(0));
  if (!list) return nullptr;
  std::uint32_t end = 0;
  for (StructField const& field : fields.list) {
    PyRef type = field.nested ? PyRef::steal(descr_of(*field.nested))
                              : PyRef::steal(PyUnicode_FromString(field.typestr.c_str()));
    PyRef shape = shape_of(field);
    if (!type || !shape || !append_padding(list, field.offset - end)) return nullptr;
    if (!append(list, PyRef::steal(field.extents.empty()
                                       ? Py_BuildValue("(sO)", field.name.c_str(), type.get())
                                       : Py_BuildValue("(sOO)", field.name.c_str(), type.get(), shape.get()))))
      return nullptr;
    end = field.offset + field.nbytes();
  }
  return append_padding(list, fields.itemsize - end) ? list.release() : nullptr;
}

PyObject* read_fields(StructFields const& fields, std::byte const* element) {
  PyRef values = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(fields.list.size())));
  if (!values) return nullptr;
  Py_ssize_t place = 0;
  for (StructField const& field : fields.list) {
    std::byte const* data = element + field.offset;
    PyRef value = read_values(field, 0, data);
    if (!value) return nullptr;
    PyTuple_SET_ITEM(values.get(), place++, value.release());
  }
  return values.release();
}

}  // namespace memarray::python
