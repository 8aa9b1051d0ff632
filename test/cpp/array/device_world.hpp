#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "array_test.hpp"

namespace memarray::test {

/// Arrays and streams of the first simulated devices, and the objects that a program on them makes.
struct DeviceWorld {
  using Array = MemArray<int, 1>;

  /// Makes arrays of zeros on the host, and two streams of each of the first `devices` devices.
  explicit DeviceWorld(std::int64_t length, int devices = 1)
      : array({length}), other({length}), third({length}), on_host({length}) {
    for (int i = 0; i < 2 * devices; ++i) streams.push_back(create_stream_handle(get_primary_context(i / 2)));
    first_stream = streams[0];
    second_stream = streams[1];
  }

  /// Returns all arrays except `on_host`.
  [[nodiscard]] std::array<Array*, 3> arrays() { return {&array, &other, &third}; }
  void move_to_device() {
    for (Array* const each : arrays()) each->move_memory(kDLCUDA, 0, 0, -1, false);
  }

  /// Submits work to a stream of cuda:0.
  template <class Run>
  void submit(StreamHandle const& stream, Run run) const {
    detail::launch_emulated(detail::bind_stream(stream, context), std::move(run));
  }
  /// Keeps a stream of cuda:0 busy.
  void delay(StreamHandle const& stream, std::chrono::milliseconds duration) const {
    submit(stream, [duration] { std::this_thread::sleep_for(duration); });
  }

  ContextHandle context = get_primary_context(0);
  std::vector<StreamHandle> streams;  ///< two of each device
  StreamHandle first_stream;          ///< of cuda:0, as the second
  StreamHandle second_stream;
  Array array;
  Array other;
  Array third;
  Array on_host;
  std::optional<Array> made;
  DLPackTensor exported;
};

/// Adds `amount` to each element, in a stream.
inline void add(DeviceWorld::Array& array, StreamHandle const& stream, int amount, std::int64_t lock_id = -1) {
  for_each_index(array, stream, [amount](int& element, auto const&) { element += amount; }, lock_id);
}

}  // namespace memarray::test
