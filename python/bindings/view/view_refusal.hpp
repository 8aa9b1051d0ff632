#pragma once

#include <memarray/detail/python/bridge.hpp>

namespace memarray::python {

/// The memory passed for an argument.
struct Given {
  DType const& dtype;
  StridedLayout::Extents shape;
  StridedLayout::Extents strides;  ///< in bytes
  bool writable;
  bool on_device;
  Device device;
};

using Misfits = unsigned;
enum Misfit : Misfits {
  misfit_dtype = 1,
  misfit_rank = 2,
  misfit_extents = 4,
  misfit_read_only = 8,
  misfit_strides = 16,
  misfit_device = 32,
  misfit_alignment = 64,
  misfit_bools = 128,
};

/// Returns the misfits that do not depend on the layout.
[[nodiscard]] Misfits misfits_of(DType const& dtype, int ndim, bool writable, bool is_on_device,
                                 ViewWanted const& wanted) noexcept;
[[nodiscard]] Misfits misfits_of(Given const& given, ViewWanted const& wanted) noexcept;

/// Sets a `TypeError` that states expected memory, given memory and misfits.
void raise_refusal(PyObject* object, Given const& given, ViewWanted const& wanted, Misfits misfits);
/// Replaces the pending refusal by a `TypeError` that also states the expected memory.
void raise_refusal_because(PyObject* object, ViewWanted const& wanted);

}  // namespace memarray::python
