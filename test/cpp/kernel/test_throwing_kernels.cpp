// The state of arrays on a simulated device after a kernel throws.

#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_order.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "strided/device_kernels_test.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

class ThrowingKernelsTest : public test::DeviceKernelsTest {
 protected:
  /// Submits a kernel that throws at its 31st element.
  void submit() {
    for_each_index(*a, stream, [](int& element, auto const& i) {
      if (i[0] == 1 && i[1] == 10) throw std::runtime_error("a kernel of mine");
      ++element;
    });
  }
  void expect_refusal(std::string const& message) {
    EXPECT_NE(message.find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << message;
  }
  void TearDown() override {
    if (!synchronize_all()) clear_last_error();
    expect_violation("a kernel of mine");
  }
};

TEST_F(ThrowingKernelsTest, NextWaitThrowsTheKernelsError) {
  submit();
  EXPECT_EQ(a->get_lock_id(), -1) << "submitted work holds no lock";
  try {
    static_cast<void>((*a)({0, 0}));
    ADD_FAILURE() << "no exception was seen";
  } catch (CudaError const& error) {
    EXPECT_EQ(error.code(), 719);
  }
  EXPECT_EQ(a->get_lock_id(), -1);
  EXPECT_TRUE(a->get_on_device());
}

TEST_F(ThrowingKernelsTest, EveryLaterUseThrowsAndLeavesTheArrayUnlocked) {
  MemArray<int, 2> b({10, 20});
  MemArray<int, 1> host({3});
  b.move_memory(kDLCUDA, 0, 0, -1, false);
  submit();
  EXPECT_THROW(static_cast<void>((*a)({0, 0})), CudaError);
  auto const is_refused = [&](char const* name, auto const& run) {
    SCOPED_TRACE(name);
    expect_refusal(test::message_of<CudaError>(run));
    EXPECT_EQ(a->get_lock_id(), -1);
    EXPECT_EQ(b.get_lock_id(), -1);
    EXPECT_EQ(host.get_lock_id(), -1);
  };
  is_refused("element", [&] { a->write({0, 0}, 1); });
  is_refused("move", [&] { a->move_memory(kDLCPU, 0, 0, -1, false); });
  is_refused("move to another device", [&] { a->move_memory(kDLCUDA, 0, 1, -1, false); });
  is_refused("move there", [&] { host.move_memory(kDLCUDA, 0, 0, -1, false); });
  is_refused("kernel", [&] { for_each_index(*a, stream, [](int&, auto const&) {}); });
  is_refused("sum", [&] { static_cast<void>(sum(b, stream)); });
  is_refused("scan", [&] { static_cast<void>(exclusive_scan(b, *a, stream)); });
  is_refused("fill", [&] { a->fill(3); });
  is_refused("resize", [&] { a->resize({3, 3}); });
  is_refused("copy", [&] { MemArray<int, 2> const copy = *a; });
  EXPECT_EQ(a->get_shape()[0], 10);
  // Another device and the host still work.
  host.move_memory(kDLCUDA, 0, 1, -1, false);
  for_each_index(host, create_stream_handle(get_primary_context(1)), [](int& element, auto const&) { element = 5; });
  EXPECT_EQ(host({2}), 5);
  host.move_memory(kDLCPU, 0, 0, -1, false);
  EXPECT_EQ(host({1}), 5);
}

TEST_F(ThrowingKernelsTest, AccessUnderALeaseThrowsAndTheLeaseStillCloses) {
  {
    WriteLease<int, 2> const lease(*a, {.stream = stream});
    for_each_index(
        *a, stream, [](int&, auto const&) { throw std::runtime_error("a kernel of mine"); }, lease.lock_id());
    EXPECT_THROW(static_cast<void>((*a)({0, 0}, lease.lock_id())), CudaError);
  }
  EXPECT_EQ(a->get_lock_id(), -1);
  EXPECT_THROW(static_cast<void>((*a)({0, 0})), CudaError);
}

TEST_F(ThrowingKernelsTest, ResourcesAreReleasedAfterAKernelFailure) {
  MemArray<int, 2> copy(*a);
  submit();
  DLPackTensor kept;
  try {
    kept = copy.get_dlpack_tensor(true);
  } catch (CudaError const&) {
  }
  a.reset();
}

}  // namespace
}  // namespace memarray
