#pragma once

#include <memarray/base/device.hpp>
#include <memarray/driver/stream_choice.hpp>

#include <optional>

namespace memarray::detail {

/// Where a hold wants an array's memory, and in which stream it uses it there.
struct Place {
  std::optional<Device> device{};  ///< by default where it is
  StreamChoice stream{};
  bool is_among_others = false;  ///< of holds that are had together, or none
};

}  // namespace memarray::detail
