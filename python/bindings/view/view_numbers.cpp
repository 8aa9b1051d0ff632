#include "view/view_numbers.hpp"

#include "py_ref.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "signature.hpp"
#include "view/elements.hpp"
#include "view/foreign_bools.hpp"
#include "view/view_object.hpp"

#include <memarray/base/errors.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memarray::python {
namespace {

using detail::ViewCore;

Signature<1> tobytes_signature("tobytes", {"order"}, 1);

/// Errors name `conversion`.
PyRef only_number(PyObject* self, char const* conversion, char const* instead = "view.tolist() or np.asarray(view)") {
  return PyRef::steal(guarded([&] {
    ViewCore const& view = core_of(self);
    view.check_open();
    if (view.layout().size() != 1)
      throw TypeError(std::string(conversion) + " takes a view of one element, not a " + view.describe() + ": use " +
                      instead);
    if (view.dtype().is_struct())
      throw TypeError(std::string(conversion) + " takes a view of numbers, not a " + view.describe());
    return first_element(view);
  }));
}

ViewCore on_host(ViewCore const& view) {
  view.check_open();
  return view.on_device() ? view.to_device(Device{}) : view;
}

PyObject* list_of(ViewCore const& view, int dimension, std::byte const* element) {
  StridedLayout const& layout = view.layout();
  if (dimension == layout.ndim()) return read_element(view.dtype(), element);
  Py_ssize_t const extent = layout.extent(dimension);
  PyRef list = PyRef::steal(PyList_New(extent));
  for (Py_ssize_t i = 0; list && i < extent; ++i) {
    PyObject* const item = list_of(view, dimension + 1, element + i * layout.stride(dimension));
    if (!item) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

/// Returns as `view_contains` does.
int search(ViewCore const& view, int dimension, std::byte const* element, PyObject* value) {
  StridedLayout const& layout = view.layout();
  if (dimension == layout.ndim()) {
    PyRef const number = PyRef::steal(read_element(view.dtype(), element));
    if (!number) return -1;
    PyRef const equal = PyRef::steal(PyObject_RichCompare(number.get(), value, Py_EQ));
    return equal ? PyObject_IsTrue(equal.get()) : -1;
  }
  for (std::int64_t i = 0; i < layout.extent(dimension); ++i)
    if (int const found = search(view, dimension + 1, element + i * layout.stride(dimension), value); found != 0)
      return found;
  return 0;
}

}  // namespace

PyObject* view_int(PyObject* self) {
  PyRef const number = only_number(self, "int()");
  return number ? PyNumber_Long(number.get()) : nullptr;
}

PyObject* view_float(PyObject* self) {
  PyRef const number = only_number(self, "float()");
  return number ? PyNumber_Float(number.get()) : nullptr;
}

PyObject* view_complex(PyObject* self, PyObject*) {
  PyRef const number = only_number(self, "complex()");
  return number ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number.get()) : nullptr;
}

int view_bool(PyObject* self) {
  PyRef const number = only_number(self, "bool()", "view.size, or np.any(view) or np.all(view)");
  return number ? PyObject_IsTrue(number.get()) : -1;
}

PyObject* view_as_index(PyObject* self) {
  DType const& dtype = dtype_of_view(self);
  bool const is_integer = dtype.has_dlpack() && (dtype.dl.code == kDLInt || dtype.dl.code == kDLUInt);
  if (is_integer && layout_of(self).ndim() == 0) return only_number(self, "index()").release();
  return guarded([&]() -> PyObject* {
    throw TypeError("only a view of integers without dimensions is an index, not a " + core_of(self).describe() +
                    ": use int(view) or view.item()");
  });
}

PyObject* view_iter(PyObject* self) {
  return guarded([&] {
    ViewCore const& view = core_of(self);
    view.check_open();
    if (view.layout().ndim() == 0)
      throw TypeError("a view without dimensions is not iterated over: view.item() is its element");
    return PySeqIter_New(self);
  });
}

PyObject* view_row(PyObject* self, Py_ssize_t index) {
  return guarded([&]() -> PyObject* {
    ViewCore const& view = core_of(self);
    view.check_open();
    StridedLayout const& whole = view.layout();
    if (whole.ndim() == 0) throw TypeError("a view without dimensions is not indexed: view.item() is its element");
    if (index < 0 || index >= whole.extent(0)) {
      PyErr_SetString(PyExc_IndexError, "index out of range");
      return nullptr;
    }
    std::int64_t const offset = index * whole.stride(0);
    if (whole.ndim() == 1 && !view.on_device()) return read_element(view.dtype(), view.data() + offset);
    StridedLayout rest = whole;
    rest.select(0, index);
    return rest.ndim() == 0 ? first_element(view.at(rest, offset)) : derived(self, view.at(rest, offset));
  });
}

int view_contains(PyObject* self, PyObject* value) {
  return guarded([&] {
    // The elements of structs are tuples.
    if ((PyTuple_Check(value) || PyList_Check(value)) && !core_of(self).dtype().is_struct()) {
      PyErr_Format(PyExc_TypeError, "'in' looks for one element, not for %s: use np.isin, or compare NumPy arrays",
                   shown(value).c_str());
      return -1;
    }
    // A separate view: comparisons may run code that closes this one.
    ViewCore const view = on_host(core_of(self));
    return view.layout().size() == 0 ? 0 : search(view, 0, view.data(), value);
  });
}

PyObject* view_tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    ViewCore const view = on_host(core_of(self));
    return list_of(view, 0, view.data());
  });
}

PyObject* view_tobytes(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 1> slots{};
  if (!tobytes_signature.parse(args, given, keywords, slots)) return nullptr;
  PyObject* const order = slots[0];
  bool const is_word = !order || order == Py_None ||
                       (PyUnicode_Check(order) && PyUnicode_GET_LENGTH(order) == 1 &&
                        std::u32string_view(U"CFA").find(PyUnicode_READ_CHAR(order, 0)) != std::u32string_view::npos);
  if (!is_word) {
    PyErr_Format(PyExc_TypeError, "order is 'C', 'F' or 'A' (as the elements lie, else 'C'), not %s",
                 shown(order).c_str());
    return nullptr;
  }
  char const letter = order && order != Py_None ? static_cast<char>(PyUnicode_READ_CHAR(order, 0)) : 'C';
  return guarded([&] {
    ViewCore view = on_host(core_of(self));
    std::size_t const itemsize = view.dtype().itemsize;
    if (letter == 'F' || (letter == 'A' && !view.is_contiguous() && view.layout().is_fortran_contiguous(itemsize))) {
      StridedLayout reversed = view.layout();
      reversed.transpose();
      view = view.at(reversed, 0);
    }
    ViewCore dense = view.ensure_contiguous();
    if (detail::has_invalid_bools(dense)) dense = dense.copy();
    return PyBytes_FromStringAndSize(reinterpret_cast<char const*>(dense.data()),
                                     static_cast<Py_ssize_t>(dense.bytes()));
  });
}

PyObject* compare_identity(PyObject* self, PyObject* other, int operation) {
  bool const is_same = self == other;
  // Idioms such as `iter(queue.get, None)` compare with None.
  if ((is_same || other == Py_None) && (operation == Py_EQ || operation == Py_NE))
    return PyBool_FromLong((operation == Py_EQ) == is_same);
  PyErr_Format(PyExc_TypeError,
               "memarray does not compare elements: use np.array_equal(a, b) or np.asarray(a) == b, and 'a is b' for "
               "the object itself (%.80s with %.80s)",
               Py_TYPE(self)->tp_name, Py_TYPE(other)->tp_name);
  return nullptr;
}

Py_hash_t hash_identity(PyObject* self) { return PyBaseObject_Type.tp_hash(self); }

bool init_view_numbers() { return tobytes_signature.intern(); }

}  // namespace memarray::python
