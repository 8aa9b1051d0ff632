#pragma once

#include <dlpack/dlpack.h>

namespace memarray::python {

/// The names of DLPack's capsules ("Python Specification for DLPack"): as a tensor is offered, and after somebody took
/// it.
template <class Managed>
struct CapsuleName;
template <>
struct CapsuleName<DLManagedTensorVersioned> {
  static constexpr char const* offered = "dltensor_versioned";
  static constexpr char const* used = "used_dltensor_versioned";
};
template <>
struct CapsuleName<DLManagedTensor> {
  static constexpr char const* offered = "dltensor";
  static constexpr char const* used = "used_dltensor";
};

}  // namespace memarray::python
