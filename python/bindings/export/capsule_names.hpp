#pragma once

#include <dlpack/dlpack.h>

namespace memarray::python {

/// DLPack's capsule names ("Python Specification for DLPack"), before and after a consumer takes the tensor.
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
