#pragma once

#include "lease/lease_type.hpp"

#include <memarray/driver/simulated_devices.hpp>

namespace memarray::python {

/// A scope whose new resources on simulated devices record the calling Python line.
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
