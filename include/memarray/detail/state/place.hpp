#pragma once

#include <memarray/base/device.hpp>
#include <memarray/driver/stream_choice.hpp>

#include <optional>

namespace memarray::detail {

/// The device on which a hold uses an array's memory, and the stream there.
struct Place {
  std::optional<Device> device{};  ///< by default the current one
  StreamChoice stream{};
  bool is_among_others = false;  ///< one of several holds, acquired all or none
};

}  // namespace memarray::detail
