#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {

/// Runs each test on the host with one thread and with two, and on a simulated device (parameter 0).
class PlacesTest : protected CountedArrays, public ::testing::TestWithParam<int> {
 protected:
  PlacesTest() : _before(options().threads.load()) {
    if (GetParam() == 0)
      devices.emplace();
    else
      options().threads = GetParam();
  }
  ~PlacesTest() override { options().threads = _before; }

  template <class T, int ndim>
  void place(MemArray<T, ndim>& array) const {
    if (devices) array.move_memory(kDLCUDA, 0, 0);
  }
  template <class T, int ndim>
  std::vector<T> fetched(MemArray<T, ndim>& array) const {
    if (devices) array.move_memory(kDLCPU, 0, 0, -1, false);
    return contents(array);
  }

  /// Returns elements without a move of the array.
  template <class T, int ndim>
  std::vector<T> contents_of(MemArray<T, ndim> const& array) const {
    std::vector<T> found;
    for (std::int64_t i = 0; i < array.get_size(); ++i) found.push_back(array(std::array<std::int64_t, 1>{i}));
    return found;
  }
  std::vector<double> contents_of(ConstBufferView const& view) const {
    std::vector<double> found;
    auto const host = view.to_device(Device{}).ensure_contiguous();
    auto const elements = host.template as<double const, 1>();
    for (std::int64_t i = 0; i < elements.size(); ++i) found.push_back(elements(i));
    return found;
  }

  std::optional<testing::SimulatedDevices> devices;
  StreamHandle const stream = default_stream();

 private:
  int _before;
};

inline std::string name_of_place(::testing::TestParamInfo<int> const& info) {
  return info.param == 0 ? std::string("SimulatedDevice") : "Threads" + std::to_string(info.param);
}

}  // namespace memarray::test
