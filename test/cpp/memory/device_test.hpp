#pragma once

#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/gtest.hpp>
#include <memarray/memory/default_resource.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "driver/simulated_driver.hpp"
#include "memory/deferred.hpp"

namespace memarray::test {

/// A fixture for blocks on simulated devices.
class DeviceTest : public testing::SimulatedDevicesTest {
 protected:
  using SimulatedDevicesTest::SimulatedDevicesTest;

  [[nodiscard]] static detail::BoundStream make_bound_stream(int device = 0) {
    ContextHandle const context = detail::DeviceMemory::of(device)->context();
    return detail::bind_stream(create_stream_handle(context), context);
  }
  [[nodiscard]] static detail::BlockPtr on_device(std::size_t bytes, detail::BoundStream const& bound_stream,
                                                  int device = 0) {
    return detail::Block::allocate(detail::DeviceMemory::of(device), bound_stream, bytes);
  }
  [[nodiscard]] static detail::BlockPtr on_host(std::vector<unsigned char> const& bytes) {
    detail::BlockPtr block = detail::Block::allocate({}, bytes.size(), detail::Block::Contents::uninitialized);
    std::memcpy(block->data(), bytes.data(), bytes.size());
    return block;
  }
  [[nodiscard]] static std::vector<unsigned char> bytes_in(detail::Block& block,
                                                           detail::BoundStream const& bound_stream) {
    std::vector<unsigned char> bytes(block.bytes());
    if (block.device().is_cpu()) {
      if (block.uses()) block.uses()->synchronize(detail::Use::read, "a test");
      std::memcpy(bytes.data(), block.data(), bytes.size());
    } else {
      detail::BlockPtr const here = on_host(bytes);
      detail::copy(*here, block, bytes.size(), bound_stream, detail::CopyMode::blocking);
      std::memcpy(bytes.data(), here->data(), bytes.size());
    }
    return bytes;
  }
  /// Returns the library's wait sites since the last call, without the driver function's name.
  [[nodiscard]] std::vector<std::string> new_waits() {
    std::vector<std::string> all = sim.waits();
    std::vector<std::string> fresh(all.begin() + static_cast<std::ptrdiff_t>(_seen), all.end());
    _seen = all.size();
    return fresh;
  }

  detail::BoundStream first = make_bound_stream();
  detail::BoundStream second = make_bound_stream();

 private:
  std::size_t _seen = 0;
};

}  // namespace memarray::test
