#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "array/array_test.hpp"

namespace memarray::test {

/// A fixture with an array on cuda:0 and a stream there.
class DeviceKernelsTest : public DeviceArrayTest {
 protected:
  DeviceKernelsTest() {
    a.emplace(std::array<std::int64_t, 2>{10, 20});
    count_up(*a);
    a->move_memory(kDLCUDA, 0, 0, -1, false);
    stream = create_stream_handle(get_primary_context(0));
  }

  template <class T, int ndim>
  [[nodiscard]] static std::vector<T> on_host(MemArray<T, ndim>& array) {
    array.move_memory(kDLCPU, 0, 0, -1, false);
    return contents(array);
  }

  StreamHandle stream;
  std::optional<MemArray<int, 2>> a;
};

}  // namespace memarray::test
