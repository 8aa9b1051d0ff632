#include "view_type.hpp"

#include "errors.hpp"

#include <memarray/base/float16.hpp>
#include <memarray/base/shape.hpp>

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

namespace memarray::python {
namespace {

using detail::ViewCore;

template <class T>
T load(std::byte const* element) noexcept {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

PyObject* read_integer(DType const& dtype, std::byte const* element) {
  bool const is_signed = dtype.dl.code == kDLInt;
  switch (dtype.itemsize) {
    case 1: return PyLong_FromLong(is_signed ? load<std::int8_t>(element) : load<std::uint8_t>(element));
    case 2: return PyLong_FromLong(is_signed ? load<std::int16_t>(element) : load<std::uint16_t>(element));
    case 4: return PyLong_FromLongLong(is_signed ? load<std::int32_t>(element) : load<std::uint32_t>(element));
    default:
      return is_signed ? PyLong_FromLongLong(load<std::int64_t>(element))
                       : PyLong_FromUnsignedLongLong(load<std::uint64_t>(element));
  }
}

double read_real(DType const& dtype, std::byte const* element) {
  if (dtype.dl.code == kDLBfloat) return static_cast<float>(load<bfloat16>(element));
  if (dtype.itemsize == 2) return static_cast<float>(load<float16>(element));
  return dtype.itemsize == 4 ? load<float>(element) : load<double>(element);
}

/// Walks over the parts of a key.
class Indexing {
 public:
  explicit Indexing(ViewCore const& view) : layout(view.layout()), _ndim(view.layout().ndim()) {}

  StridedLayout layout;
  std::int64_t offset = 0;
  bool only_integers = true;

  bool apply(PyObject* const* parts, Py_ssize_t count) {
    int indexed = 0;
    int ellipses = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (parts[i] == Py_Ellipsis)
        ++ellipses;
      else if (parts[i] != Py_None)
        ++indexed;
    }
    if (ellipses > 1) {
      PyErr_SetString(PyExc_IndexError, "an index can have one '...' only");
      return false;
    }
    if (indexed > _ndim) {
      PyErr_Format(PyExc_IndexError, "a view of %d dimensions is indexed by %d", _ndim, indexed);
      return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!apply_one(parts[i], _ndim - indexed)) return false;
    return true;
  }

 private:
  bool apply_one(PyObject* part, int skipped) {
    if (part == Py_Ellipsis) {
      only_integers = false;
      _dimension += skipped;
    } else if (part == Py_None) {
      only_integers = false;
      layout.insert(_dimension++);
    } else if (PySlice_Check(part)) {
      only_integers = false;
      Py_ssize_t start = 0;
      Py_ssize_t stop = 0;
      Py_ssize_t step = 0;
      if (PySlice_Unpack(part, &start, &stop, &step) < 0) return false;
      offset += layout.slice(_dimension++, {start, stop, step});
    } else if (PyIndex_Check(part) && !PyBool_Check(part)) {
      Py_ssize_t const index = PyNumber_AsSsize_t(part, PyExc_IndexError);
      if (index == -1 && PyErr_Occurred()) return false;
      offset += layout.select(_dimension, index);
    } else {
      PyErr_Format(PyExc_TypeError,
                   "a view is indexed by integers, slices, '...' and None, not by %R: np.asarray(view) takes the rest",
                   part);
      return false;
    }
    return true;
  }

  int _ndim;
  int _dimension = 0;
};

}  // namespace

PyObject* read_element(DType const& dtype, std::byte const* element) {
  switch (dtype.dl.code) {
    case kDLBool: return PyBool_FromLong(load<std::uint8_t>(element));
    case kDLInt:
    case kDLUInt: return read_integer(dtype, element);
    case kDLFloat:
    case kDLBfloat: return PyFloat_FromDouble(read_real(dtype, element));
    case kDLComplex: {
      std::complex<double> const value =
          dtype.itemsize == 8 ? load<std::complex<float>>(element) : load<std::complex<double>>(element);
      return PyComplex_FromDoubles(value.real(), value.imag());
    }
    default: return PyBytes_FromStringAndSize(reinterpret_cast<char const*>(element), dtype.itemsize);
  }
}

bool read_axes(PyObject* object, int ndim, detail::AxisMask& axes) {
  if (!object || object == Py_None) {
    axes = detail::every_axis(ndim);
    return true;
  }
  std::vector<int> given;
  auto const add = [&](PyObject* axis) {
    bool const is_integer = PyIndex_Check(axis) && !PyBool_Check(axis);
    Py_ssize_t const number = is_integer ? PyNumber_AsSsize_t(axis, nullptr) : -1;
    if (!is_integer) PyErr_Format(PyExc_TypeError, "axis is None, an integer or a tuple of integers, not %R", object);
    if (PyErr_Occurred()) return false;
    // Far away is nowhere, too.
    given.push_back(static_cast<int>(std::clamp<Py_ssize_t>(number, -1000, 1000)));
    return true;
  };
  bool read = true;
  if (!PyTuple_Check(object))
    read = add(object);
  else
    for (Py_ssize_t i = 0; read && i < PyTuple_GET_SIZE(object); ++i) read = add(PyTuple_GET_ITEM(object, i));
  if (read) axes = detail::axis_mask(given, ndim);
  return read;
}

PyObject* view_getitem(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    ViewCore const& view = *view_of(self);
    view.check_open();
    Indexing indexing(view);
    bool const applied =
        PyTuple_Check(key) ? indexing.apply(&PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key)) : indexing.apply(&key, 1);
    if (!applied) return nullptr;
    // Looked at again: an index's __index__ may have closed it.
    if (indexing.only_integers && indexing.layout.ndim() == 0)
      return read_element(view.dtype(), view.data() + indexing.offset);
    PyObject* const owner = owner_of_view(self);
    PyObject* const result = make_view(view.at(indexing.layout, indexing.offset), owner);
    Py_XDECREF(owner);
    return result;
  });
}

}  // namespace memarray::python
