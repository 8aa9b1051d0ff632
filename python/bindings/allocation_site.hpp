#pragma once

#include "lease/lease_type.hpp"

#include <memarray/driver/simulated_devices.hpp>

namespace memarray::python {

/// A scope that gives simulated devices the calling Python line for new resources.
class AllocationSiteScope {
 public:
  AllocationSiteScope() : _simulated(testing::detail::are_simulated()) {
    if (_simulated) testing::detail::set_allocation_site(line_of_caller().c_str());
  }
  ~AllocationSiteScope() {
    if (_simulated) testing::detail::set_allocation_site(nullptr);
  }
  AllocationSiteScope(AllocationSiteScope const&) = delete;
  AllocationSiteScope& operator=(AllocationSiteScope const&) = delete;

 private:
  bool _simulated;
};

}  // namespace memarray::python
