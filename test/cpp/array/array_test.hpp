#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <memarray/base/live_memory.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/gtest.hpp>
#include <memarray/memarray.hpp>

namespace memarray::test {

/// Fails the test if a block allocated during its lifetime is still alive at its end. Must be a fixture's first base,
/// so that array members of the test are destroyed before the check.
class CountedArrays {
 protected:
  CountedArrays() {
    _blocks = live_memory().blocks;
    _bytes = live_memory().bytes;
    _copies = counters().copies;
    _copied_bytes = counters().copied_bytes;
    _versions = counters().versions;
    static_cast<void>(take_reports());
  }
  CountedArrays(CountedArrays const&) = delete;
  CountedArrays& operator=(CountedArrays const&) = delete;
  ~CountedArrays() {
    EXPECT_EQ(live_memory().blocks, _blocks) << "blocks leaked, or were freed twice";
    EXPECT_EQ(live_memory().bytes, _bytes);
  }

  /// Counts since the test began.
  [[nodiscard]] std::int64_t copies() const { return counters().copies - _copies; }
  [[nodiscard]] std::int64_t copied_bytes() const { return counters().copied_bytes - _copied_bytes; }
  [[nodiscard]] std::int64_t versions() const { return counters().versions - _versions; }
  [[nodiscard]] std::int64_t live_blocks() const { return live_memory().blocks - _blocks; }

 private:
  std::int64_t _blocks = 0;
  std::int64_t _bytes = 0;
  std::int64_t _copies = 0;
  std::int64_t _copied_bytes = 0;
  std::int64_t _versions = 0;
};

class ArrayTest : protected CountedArrays, public ::testing::Test {};

/// A fixture for arrays on simulated devices.
class DeviceArrayTest : protected CountedArrays, public testing::SimulatedDevicesTest {
 protected:
  using SimulatedDevicesTest::SimulatedDevicesTest;
};

/// Returns the message of the `E` that `run` throws. Otherwise fails the test and returns "".
template <class E, class Run>
std::string message_of(Run&& run) {
  try {
    std::forward<Run>(run)();
  } catch (E const& error) {
    return error.what();
  } catch (std::exception const& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// Sets element i to T(i % 100), in linear order.
template <class T, int ndim>
void count_up(MemArray<T, ndim>& array) {
  T* const elements = array.ptr();
  for (std::int64_t i = 0; i < array.get_size(); ++i) elements[i] = static_cast<T>(static_cast<float>(i % 100));
}

/// Returns the current contents of memory, without acquiring the lock.
template <class T, int ndim>
std::vector<T> contents(MemArray<T, ndim> const& array) {
  auto const* const elements = reinterpret_cast<T const*>(array.state().residency().block().data());
  return std::vector<T>(elements, elements + array.get_size());
}

template <class T, int ndim>
std::byte const* memory_of(MemArray<T, ndim> const& array) {
  return array.state().residency().block().data();
}

/// An export held by a consumer.
template <class T>
class View {
 public:
  explicit View(DLPackTensor tensor) noexcept : _tensor(std::move(tensor)) {}

  [[nodiscard]] DLPackTensor& tensor() { return _tensor; }
  [[nodiscard]] T* data() const { return static_cast<T*>(_tensor.tensor().data); }
  [[nodiscard]] std::int64_t size() const {
    std::int64_t size = 1;
    for (int d = 0; d < _tensor.tensor().ndim; ++d) size *= _tensor.tensor().shape[d];
    return size;
  }
  [[nodiscard]] std::vector<T> copy() const { return std::vector<T>(data(), data() + size()); }
  void drop() { DLPackTensor const gone = std::move(_tensor); }

 private:
  DLPackTensor _tensor;
};
/// Returns an escaped view.
template <class T, int ndim>
View<T> escaped_read_only(MemArray<T, ndim>& array) {
  return View<T>(array.get_dlpack_tensor(true));
}
template <class T, int ndim>
View<T> escaped_writable(MemArray<T, ndim>& array) {
  WriteLease<T, ndim> const lease(array);
  return View<T>(array.get_dlpack_tensor(true, lease.lock_id()));
}

/// Returns a lease of either kind as the layers above use it.
template <class T, int ndim>
std::unique_ptr<detail::LeaseCore> core_lease(MemArray<T, ndim> const& array, detail::LeaseCore::Kind kind,
                                              LeaseOptions const& options = {}) {
  return std::make_unique<detail::LeaseCore>(array.state_ptr(), kind, options);
}

/// Pageable memory that fails on request.
class FailingResource {
 public:
  struct Control {
    int until_failure = -1;  ///< allocations that still succeed; −1: all
    int asked = 0;
    int live = 0;
  };
  explicit FailingResource(Control& control) : _control(&control) {}
  void* allocate(StreamHandle const&, std::size_t bytes, std::size_t alignment) {
    ++_control->asked;
    if (_control->until_failure == 0) throw OutOfMemoryError("this resource fails on request");
    if (_control->until_failure > 0) --_control->until_failure;
    ++_control->live;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(StreamHandle const&, void* pointer, std::size_t, std::size_t) noexcept {
    --_control->live;
    std::free(pointer);
  }
  [[nodiscard]] MemoryType memory_type() const noexcept { return MemoryType::normal; }
  friend bool operator==(FailingResource const&, FailingResource const&) noexcept = default;

 private:
  Control* _control;
};

}  // namespace memarray::test
