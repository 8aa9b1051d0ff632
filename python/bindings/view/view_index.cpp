#include "view/view_object.hpp"

#include "helpers.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"

#include <memarray/base/shape.hpp>

#include <string>
#include <utility>
#include <vector>

namespace memarray::python {
namespace {

using detail::ViewCore;

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
      for (Py_ssize_t i = 0; i < count; ++i)
        if (!check_kind(parts[i])) return false;
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
    } else {
      if (!check_kind(part)) return false;
      Py_ssize_t const index = PyNumber_AsSsize_t(part, PyExc_IndexError);
      if (index == -1 && PyErr_Occurred()) return false;
      offset += layout.select(_dimension, index);
    }
    return true;
  }

  /// Raises `TypeError` for masks, arrays of integers and others.
  static bool check_kind(PyObject* part) {
    if (part == Py_Ellipsis || part == Py_None || PySlice_Check(part) || PyLong_CheckExact(part) ||
        is_scalar_index(part))
      return true;
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError,
                   "a view is indexed by integers, slices, '...' and None, not by %s: np.asarray(view) takes the rest",
                   shown(part).c_str());
    return false;
  }

  /// True for integers, but not for bools, arrays with dimensions or array scalars that refuse `__index__`. Other
  /// errors stay set.
  static bool is_scalar_index(PyObject* part) {
    if (!is_integer(part)) return false;
    PyRef ndim;
    if (!find_attribute(part, "ndim", ndim)) return !PyErr_Occurred();
    if (!PyLong_Check(ndim.get()) || PyLong_AsLong(ndim.get()) != 0) return PyErr_Clear(), false;
    PyRef const index = PyRef::steal(PyNumber_Index(part));
    if (!index && PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
    return static_cast<bool>(index);
  }

  int _ndim;
  int _dimension = 0;
};

}  // namespace

bool read_axes(PyObject* object, int ndim, detail::AxisMask& axes) {
  if (!object || object == Py_None) {
    axes = detail::every_axis(ndim);
    return true;
  }
  std::vector<int> given;
  auto const add = [&](PyObject* axis) {
    Py_ssize_t const number = is_integer(axis) ? PyNumber_AsSsize_t(axis, nullptr) : -1;
    if (!is_integer(axis))
      PyErr_Format(PyExc_TypeError, "axis is None, an integer or a tuple of integers, not %s", shown(object).c_str());
    if (PyErr_Occurred()) return false;
    if (!std::in_range<int>(number)) {
      PyErr_Format(PyExc_IndexError, "axis %s is out of range for a view of %d dimensions", shown(axis).c_str(), ndim);
      return false;
    }
    given.push_back(static_cast<int>(number));
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
    view_of(self).check_open();
    Indexing indexing(view_of(self));
    bool const applied =
        PyTuple_Check(key) ? indexing.apply(&PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key)) : indexing.apply(&key, 1);
    if (!applied) return nullptr;
    // An index's `__index__` may have closed the view.
    ViewCore const& view = view_of(self);
    if (indexing.only_integers && indexing.layout.ndim() == 0)
      return first_element(view.at(indexing.layout, indexing.offset));
    PyRef const owner = PyRef::steal(owner_of_view(self));
    return make_view(view.at(indexing.layout, indexing.offset), owner.get());
  });
}

int refuse_assignment(PyObject* self, PyObject*, PyObject*) {
  std::string const what = is_view(self) ? "view" : "lease";
  PyErr_SetString(PyExc_TypeError, ("elements of a " + what + " are not assigned to: " + what +
                                    "[…].fill(value), or np.asarray(" + what + ")[…] = value")
                                       .c_str());
  return -1;
}

}  // namespace memarray::python
