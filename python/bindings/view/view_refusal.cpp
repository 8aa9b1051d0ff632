#include "view/view_refusal.hpp"

#include "helpers.hpp"
#include "py_ref.hpp"
#include "shown.hpp"

#include <memarray/base/shape.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace memarray::python {
namespace {

// Only structs need the comparison of names.
bool is_same(DType const& left, DType const& right) noexcept {
  return left.itemsize == right.itemsize && left.dl.code == right.dl.code && left.dl.bits == right.dl.bits &&
         left.dl.lanes == right.dl.lanes && (left.has_dlpack() || left == right);
}

/// True if dense; `dimension` orders the dimensions from fastest to slowest.
template <class Dimension>
bool is_dense(Given const& given, Dimension const& dimension) noexcept {
  auto expected = static_cast<std::int64_t>(given.dtype.itemsize);
  bool dense = true;
  for (std::size_t i = 0; i < given.shape.size(); ++i) {
    std::size_t const d = dimension(i);
    if (given.shape[d] == 0) return true;
    if (given.shape[d] == 1) continue;
    dense = dense && given.strides[d] == expected;
    expected *= given.shape[d];
  }
  return dense;
}

bool strides_fit(Given const& given, ViewWanted const& wanted) noexcept {
  std::size_t const ndim = given.shape.size();
  if (includes(wanted.options, c_order) && !is_dense(given, [ndim](std::size_t i) { return ndim - 1 - i; }))
    return false;
  if (includes(wanted.options, f_order) && !is_dense(given, [](std::size_t i) { return i; })) return false;
  // Strides of empty views and of extents of 1 do not matter.
  if (std::ranges::find(given.shape, 0) != given.shape.end()) return true;
  auto const itemsize = static_cast<std::int64_t>(given.dtype.itemsize);
  bool const is_power = std::has_single_bit(given.dtype.itemsize);
  for (std::size_t d = 0; d < ndim; ++d) {
    if (given.shape[d] == 1) continue;
    std::int64_t const stride = given.strides[d];
    if ((is_power ? stride & (itemsize - 1) : stride % itemsize) != 0) return false;
    if (wanted.forward && stride <= 0) return false;
  }
  return true;
}

bool extents_fit(Given const& given, ViewWanted const& wanted) noexcept {
  if (!wanted.extents && wanted.reach == ViewWanted::any_reach) return true;
  std::int64_t last = 0;
  bool is_empty = false;
  for (std::size_t d = 0; d < given.shape.size(); ++d) {
    std::int64_t const extent = given.shape[d];
    if (wanted.extents && wanted.extents[d] >= 0 && wanted.extents[d] != extent) return false;
    if (extent > wanted.reach) return false;
    is_empty = is_empty || extent == 0;
    if (extent > 1) last += (extent - 1) * std::abs(given.strides[d] / static_cast<std::int64_t>(given.dtype.itemsize));
  }
  return is_empty || last < wanted.reach;
}

std::string wanted_text(ViewWanted const& wanted) {
  std::string text = "expected ";
  if (wanted.writable) text += "writable ";
  text += "memory of " + std::string(wanted.dtype.name_view()) + " with " + std::to_string(wanted.ndim) +
          (wanted.ndim == 1 ? " dimension" : " dimensions");
  if (wanted.extents) {
    bool any = false;
    std::string extents;
    for (int d = 0; d < wanted.ndim; ++d) {
      any = any || wanted.extents[d] >= 0;
      extents += (d == 0 ? "" : ", ") + (wanted.extents[d] < 0 ? "any" : std::to_string(wanted.extents[d]));
    }
    if (any) text += " of (" + extents + ")";
  }
  if (includes(wanted.options, c_order))
    text += ", dense in C order";
  else if (includes(wanted.options, f_order))
    text += ", dense in Fortran's order";
  if (wanted.forward) text += ", with strides above zero";
  return text + (includes(wanted.options, on_device) ? ", on a device" : ", on the host");
}

std::string given_text(PyObject* object, Given const& given) {
  return "a " + type_name(object) + ": " + (given.writable ? "writable" : "read-only") + " memory of " +
         std::string(given.dtype.name_view()) + ", shape " + shape_text(given.shape) + ", strides " +
         shape_text(given.strides) + " bytes, on " +
         (given.on_device ? to_string(given.device) : std::string("the host"));
}

std::string misfits_text(Misfits misfits, ViewWanted const& wanted) {
  std::string text;
  auto const add = [&](Misfit misfit, char const* words) {
    if ((misfits & misfit) != 0) text += (text.empty() ? "" : ", ") + std::string(words);
  };
  add(misfit_dtype, "the dtype (convert it first)");
  add(misfit_rank, "the number of dimensions (reshape it first)");
  add(misfit_extents, "the shape");
  add(misfit_read_only, "the access (it is read-only: copy it first)");
  bool const is_fortran = includes(wanted.options, f_order) && !includes(wanted.options, c_order);
  add(misfit_strides, is_fortran ? "the strides (numpy.asfortranarray(x) copies it)" : "the strides (copy it first)");
  add(misfit_alignment, "the address (it is not aligned for the struct: copy it first)");
  add(misfit_bools, "the bools (some are neither 0 nor 1: write numpy.not_equal(x.view('uint8'), 0, out=x) first)");
  add(misfit_device, includes(wanted.options, on_device)
                         ? "the place (memarray.BufferView(x).to_device('cuda:0') copies it there)"
                         : "the place (memarray.BufferView(x).to_device('cpu') copies it there)");
  return text;
}

}  // namespace

Misfits misfits_of(DType const& dtype, int ndim, bool writable, bool is_on_device, ViewWanted const& wanted) noexcept {
  Misfits misfits = 0;
  if (!is_same(dtype, wanted.dtype)) misfits |= misfit_dtype;
  if (ndim != wanted.ndim) misfits |= misfit_rank;
  if (wanted.writable && !writable) misfits |= misfit_read_only;
  if (is_on_device != includes(wanted.options, on_device)) misfits |= misfit_device;
  return misfits;
}

Misfits misfits_of(Given const& given, ViewWanted const& wanted) noexcept {
  Misfits misfits =
      misfits_of(given.dtype, static_cast<int>(given.shape.size()), given.writable, given.on_device, wanted);
  if ((misfits & (misfit_dtype | misfit_rank)) != 0) return misfits;
  if (!strides_fit(given, wanted)) misfits |= misfit_strides;
  if (!extents_fit(given, wanted)) misfits |= misfit_extents;
  return misfits;
}

void raise_refusal(PyObject* object, Given const& given, ViewWanted const& wanted, Misfits misfits) {
  PyErr_SetString(PyExc_TypeError, (wanted_text(wanted) + "; got " + given_text(object, given) +
                                    ". Wrong: " + misfits_text(misfits, wanted))
                                       .c_str());
}

void raise_refusal_because(PyObject* object, ViewWanted const& wanted) {
  PyRef cause = take_error();
  PyErr_Format(PyExc_TypeError, "%s; got a %s that cannot be viewed: %s", wanted_text(wanted).c_str(),
               type_name(object).c_str(), first_line(cause.get(), 400).c_str());
  PyRef refusal = take_error();
  PyException_SetCause(refusal.get(), cause.release());
  set_error(std::move(refusal));
}

}  // namespace memarray::python
