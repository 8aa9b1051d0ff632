#pragma once

#include "lease/lease_type.hpp"

#include <memarray/driver/simulated_devices.hpp>

namespace memarray::python {

/// A scope in which simulated devices report new resources with the calling line of Python.
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
