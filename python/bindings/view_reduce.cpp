#include "view_reduce.hpp"

#include "arguments.hpp"
#include "elements.hpp"
#include "errors.hpp"
#include "view_object.hpp"

#include <memarray/array/strided_plan.hpp>

#include <array>
#include <string_view>

namespace memarray::python {
namespace {

using detail::AxisMask;
using detail::Reduction;
using detail::ViewCore;

Signature<2> reduce_signature("a reduction", {"axis", "keepdims"}, 1);
Signature<2> plan_signature("plan", {"operation", "axis"}, 2);

PyObject* reduce(Reduction reduction, PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords) {
  std::array<PyObject*, 2> slots{};
  if (!reduce_signature.parse(args, given, keywords, slots)) return nullptr;
  auto const [axis, keep] = slots;
  if (keep && !PyBool_Check(keep)) return PyErr_Format(PyExc_TypeError, "keepdims is True or False, not %R", keep);
  return guarded([&, axis = axis, keep = keep]() -> PyObject* {
    ViewCore const& view = core_of(self);
    int const ndim = view.layout().ndim();
    AxisMask axes = 0;
    if (!read_axes(axis, ndim, axes)) return nullptr;
    // Over all axes it is a number, as NumPy has it.
    if (axes == detail::every_axis(ndim) && (keep != Py_True || ndim == 0)) {
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
    if (!operation || !read_axes(slots[1], view.layout().ndim(), axes)) return nullptr;
    detail::LoopNest const nest =
        detail::plan({operation, static_cast<std::size_t>(length)}, view.dtype(), view.layout(), axes);
    return PyUnicode_FromString(to_string(nest).c_str());
  });
}

bool init_view_reduce() { return reduce_signature.intern() && plan_signature.intern(); }

}  // namespace memarray::python
