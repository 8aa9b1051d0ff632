#include "view/view_reduce.hpp"

#include "import/view_import.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "signature.hpp"
#include "view/elements.hpp"
#include "view/view_object.hpp"

#include <memarray/detail/strided/strided_plan.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace memarray::python {
namespace {

using detail::AxisMask;
using detail::Reduction;
using detail::ViewCore;

Signature<6> reduce_signature("a reduction", {"axis", "keepdims", "dtype", "out", "initial", "where"}, 1);
Signature<2> plan_signature("plan", {"operation", "axis"}, 2);

/// True for an omitted argument, or a default that NumPy's functions pass.
bool is_default(PyObject* value) {
  return !value || value == Py_None || std::string_view(Py_TYPE(value)->tp_name).ends_with("_NoValueType");
}

/// Refuses arguments of NumPy's functions that views lack, unless they are defaults. Sets `wanted` if the result's
/// dtype is not the usual one.
bool read_numpy_arguments(Reduction reduction, PyObject* self, std::array<PyObject*, 6> const& slots,
                          DType const*& wanted) {
  auto const [axis, keep, dtype, out, initial, where] = slots;
  char const* const refused = !is_default(out)                         ? "out"
                              : !is_default(initial)                   ? "initial"
                              : !is_default(where) && where != Py_True ? "where"
                                                                       : nullptr;
  if (refused) {
    PyErr_Format(PyExc_TypeError, "a reduction of a view takes no %s=: np.asarray(view) has such reductions", refused);
    return false;
  }
  if (is_default(dtype)) return true;
  DType const* const given = read_dtype(dtype);
  if (!given) return false;
  DType const& result = detail::reduced_dtype(reduction, dtype_of_view(self));
  if (*given == result) return true;
  if (reduction == Reduction::sum || reduction == Reduction::mean) {
    wanted = given;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "this reduction of a view returns %s, not %s: cast() the result", result.name,
               given->name);
  return false;
}

/// Converts the elements before they are summed, as NumPy does.
ViewCore reduced_as(DType const& wanted, Reduction reduction, ViewCore const& view, AxisMask axes, bool keep) {
  ViewCore result = view.cast(wanted).reduced(reduction, axes, keep);
  if (result.dtype() == wanted) return result;
  // A sum of bools is a number; as a bool it is true if any element is.
  if (reduction == Reduction::sum && wanted.dl.code == kDLBool) return result.astype(wanted);
  return result.cast(wanted);
}

PyObject* reduce(Reduction reduction, PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 6> slots{};
  if (!reduce_signature.parse(args, given, keywords, slots)) return nullptr;
  PyObject* const axis = slots[0];
  PyObject* const keep = slots[1] && is_default(slots[1]) && slots[1] != Py_None ? nullptr : slots[1];
  if (keep && !PyBool_Check(keep))
    return PyErr_Format(PyExc_TypeError, "keepdims is True or False, not %s", shown(keep).c_str());
  return guarded([&]() -> PyObject* {
    DType const* wanted = nullptr;
    if (keywords && !read_numpy_arguments(reduction, self, slots, wanted)) return nullptr;
    ViewCore const& view = core_of(self);
    int const ndim = view.layout().ndim();
    AxisMask axes = 0;
    if (!read_axes(axis, ndim, axes)) return nullptr;
    // NumPy's rule.
    bool const is_number = axes == detail::every_axis(ndim) && (keep != Py_True || ndim == 0);
    if (wanted) {
      ViewCore result = reduced_as(*wanted, reduction, view, axes, keep == Py_True);
      return is_number ? first_element(result) : make_view(std::move(result), nullptr);
    }
    if (is_number) {
      alignas(16) std::byte element[16];
      DType const& dtype = view.reduce_all(reduction, element);
      return read_element(dtype, element);
    }
    return make_view(view.reduced(reduction, axes, keep == Py_True), nullptr);
  });
}

}  // namespace

PyObject* view_sum(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  return reduce(Reduction::sum, self, args, given, keywords);
}
PyObject* view_mean(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  return reduce(Reduction::mean, self, args, given, keywords);
}
PyObject* view_min(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  return reduce(Reduction::min, self, args, given, keywords);
}
PyObject* view_max(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  return reduce(Reduction::max, self, args, given, keywords);
}

PyObject* view_plan(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 2> slots{};
  if (!plan_signature.parse(args, given, keywords, slots)) return nullptr;
  if (!slots[0] || !PyUnicode_Check(slots[0])) {
    PyErr_SetString(PyExc_TypeError, "plan takes the name of an operation: view.plan('sum')");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    ViewCore const& view = core_of(self);
    AxisMask axes = 0;
    Py_ssize_t length = 0;
    char const* const operation = PyUnicode_AsUTF8AndSize(slots[0], &length);
    if (operation && length > longest_word)
      return PyErr_Format(PyExc_ValueError, "plan takes the name of an operation, such as 'sum', not %s",
                          shown(slots[0]).c_str());
    if (!operation || !read_axes(slots[1], view.layout().ndim(), axes)) return nullptr;
    detail::LoopNest const nest =
        detail::plan({operation, static_cast<std::size_t>(length)}, view.dtype(), view.layout(), axes);
    return PyUnicode_FromString(to_string(nest).c_str());
  });
}

bool init_view_reduce() { return reduce_signature.intern() && plan_signature.intern(); }

}  // namespace memarray::python
