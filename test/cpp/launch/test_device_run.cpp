#include <memarray/detail/launch/device_run.hpp>

#include <gtest/gtest.h>
#include <memarray/base/errors.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/driver/driver_table.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "array/array_test.hpp"
#include "memory/deferred.hpp"

namespace {
/// Too large for a kernel's parameter.
struct Large {
  double values[8];
};
}  // namespace

MEMARRAY_DTYPE(Large);

namespace memarray::test {
namespace {

using detail::BoundStream;
using detail::DeviceMemory;
using detail::DeviceRun;

class DeviceRunTest : public DeviceArrayTest {
 protected:
  explicit DeviceRunTest(testing::SimulatedOptions const& options = {}) : DeviceArrayTest(options) {}

  [[nodiscard]] static BoundStream make_bound_stream() {
    ContextHandle const context = DeviceMemory::of(0)->context();
    return detail::bind_stream(create_stream_handle(context), context);
  }
  [[nodiscard]] static MemArray<double, 1> counted(std::int64_t count) {
    MemArray<double, 1> array({count});
    count_up(array);
    array.move_memory(kDLCUDA, 0, 0);
    return array;
  }
  BoundStream bound_stream = make_bound_stream();
};

TEST_F(DeviceRunTest, ScratchIsAllocatedFromThePoolAndFreedInStreamOrder) {
  std::uint64_t const taken = sim.calls("cuMemAllocFromPoolAsync");
  std::int64_t const live = sim.live().device_memory;
  {
    DeviceRun run(*DeviceMemory::of(0), bound_stream, "a test");
    static_cast<void>(run.scratch(100));
    static_cast<void>(run.scratch(200));
    EXPECT_EQ(sim.calls("cuMemAllocFromPoolAsync"), taken + 2);
    EXPECT_EQ(sim.live().device_memory, live + 2);
  }
  EXPECT_TRUE(detail::synchronize(bound_stream));
  EXPECT_EQ(sim.live().device_memory, live);
}

TEST_F(DeviceRunTest, AllocationIsRetriedAfterTrimming) {
  auto const array = counted(100);
  sim.fail("cuMemAllocFromPoolAsync", 1, 2, 1);
  EXPECT_EQ(sum(array, bound_stream.stream), 4950.0);
  EXPECT_GE(sim.calls("cuMemPoolTrimTo"), 1U);
}

TEST_F(DeviceRunTest, OutOfMemoryErrorStatesTheSizeAndTheNextSumWorks) {
  auto const array = counted(100);
  sim.fail("cuMemAllocFromPoolAsync");
  auto const run = [&] { static_cast<void>(sum(array, bound_stream.stream)); };
  std::string const words = message_of<OutOfMemoryError>(run);
  EXPECT_NE(words.find("taking 8 bytes of device memory on cuda:0"), std::string::npos) << words;
  sim.clear();
  EXPECT_EQ(sum(array, bound_stream.stream), 4950.0);
}

TEST_F(DeviceRunTest, OtherJobsWithoutMemoryStateTheSizeAndWorkAfterwards) {
  constexpr std::int64_t count = 10000;
  auto const array = counted(count);
  MemArray<double, 1> sums({count});
  sums.move_memory(kDLCUDA, 0, 0);
  MemArray<Large, 1> larges({10});
  larges.move_memory(kDLCUDA, 0, 0);
  struct Job {
    char const* name;
    int allocation;  // the first that fails; those before it are of results
    std::function<void()> run;
  };
  std::vector<Job> const jobs{
      {"scan", 1, [&] { exclusive_scan(array, sums, bound_stream.stream); }},
      {"reduction of a view", 2, [&] { static_cast<void>(ConstBufferView(ReadLease<double, 1>(array)).sum()); }},
      {"fill of a strided view", 1,
       [&] { BufferView(WriteLease<Large, 1>(larges)).slice(0, {.step = 2}).fill(Large{{1, 2, 3}}); }},
      {"reduction by a kernel", 1,
       [&] {
         static_cast<void>(transform_reduce(
             {count}, bound_stream.stream, 0.0, std::plus(), [](std::int64_t i, auto const& x) { return x[i]; },
             read(array)));
       }},
  };
  for (Job const& job : jobs) {
    SCOPED_TRACE(job.name);
    std::uint64_t const trims = sim.calls("cuMemPoolTrimTo");
    sim.fail("cuMemAllocFromPoolAsync", job.allocation);
    std::string const words = message_of<OutOfMemoryError>(job.run);
    EXPECT_NE(words.find(" bytes of device memory on cuda:0"), std::string::npos) << words;
    EXPECT_GT(sim.calls("cuMemPoolTrimTo"), trims);
    EXPECT_EQ(array.get_lock_id(), -1);
    EXPECT_EQ(sums.get_lock_id(), -1);
    EXPECT_EQ(larges.get_lock_id(), -1);
    sim.clear();
    EXPECT_NO_THROW(job.run());
  }
}

TEST_F(DeviceRunTest, ReductionsAllocateScratchOnlyForSeveralParts) {
  MemArray<float, 2> array({4096, 2});
  array.fill(1.0F);
  array.move_memory(kDLCUDA, 0, 0);
  ReadLease<float, 2> const lease(array);
  ConstBufferView const view(lease);
  std::uint64_t const before = sim.calls("cuMemAllocFromPoolAsync");
  EXPECT_EQ(view.sum({1}).shape()[0], 4096);
  EXPECT_EQ(sim.calls("cuMemAllocFromPoolAsync"), before + 1) << "the result alone";
  EXPECT_EQ(view.sum().shape().size(), 0U);
  EXPECT_GT(sim.calls("cuMemAllocFromPoolAsync"), before + 2);
}

TEST_F(DeviceRunTest, FailedContextPushThrowsBeforeAnySubmission) {
  auto const array = counted(100);
  MemArray<double, 1> sums({100});
  sums.move_memory(kDLCUDA, 0, 0);
  for (bool const scans : {false, true}) {
    sim.fail("cuCtxPushCurrent", 1, 201);
    EXPECT_THROW(DeviceRun const run(*DeviceMemory::of(0), bound_stream, "a test"), CudaError);
    std::uint64_t const taken = sim.calls("cuMemAllocFromPoolAsync");
    if (scans)
      EXPECT_THROW(exclusive_scan(array, sums, bound_stream.stream), CudaError);
    else
      EXPECT_THROW(static_cast<void>(sum(array, bound_stream.stream)), CudaError);
    EXPECT_EQ(sim.calls("cuMemAllocFromPoolAsync"), taken);
    sim.clear();
  }
  EXPECT_EQ(sum(array, bound_stream.stream), 4950.0);
}

TEST_F(DeviceRunTest, AForkedChildCallsNoDriver) {
  DeviceMemory& memory = *DeviceMemory::of(0);
  pid_t const child = fork();
  if (child == 0) {
    std::uint64_t const calls = sim.calls();
    int result = 1;
    try {
      DeviceRun const run(memory, bound_stream, "a test");
    } catch (CudaError const&) {
      result = sim.calls() == calls ? 0 : 2;
    }
    _exit(result);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// A fixture for devices whose pageable copies access host memory as late as the CUDA documentation allows.
class LateDeviceRunTest : public DeviceRunTest {
 protected:
  LateDeviceRunTest() : DeviceRunTest({.late_copies = true}) {}
};

TEST_F(LateDeviceRunTest, UploadedMemoryIsNotReadAfterTheCall) {
  DeviceMemory& memory = *DeviceMemory::of(0);
  std::vector<std::byte> data(100, std::byte{7});
  sim.delay(std::chrono::milliseconds(10));
  std::vector<std::byte> result(100);
  {
    DeviceRun run(memory, bound_stream, "a test");
    std::byte const* const copy = run.upload(data.size(), data.data());
    std::memset(data.data(), 9, data.size());
    run.read_back({{result.data(), copy, 40}, {result.data() + 40, copy + 40, 60}});
  }
  EXPECT_EQ(result, std::vector<std::byte>(100, std::byte{7}));
}

TEST_F(LateDeviceRunTest, AResultIsNotWrittenAfterAnError) {
  DeviceMemory& memory = *DeviceMemory::of(0);
  std::uint64_t result = 1;
  {
    DeviceRun run(memory, bound_stream, "a test");
    std::uint64_t const value = 5;
    std::byte const* const there = run.upload(sizeof value, reinterpret_cast<std::byte const*>(&value));
    sim.delay(std::chrono::milliseconds(10));
    sim.fail("cuStreamSynchronize", 1, 999);
    sim.fail("cuCtxSynchronize", 1, 999);
    EXPECT_THROW(run.read_back({{&result, there, sizeof result}}), CudaError);
    sim.clear();
  }
  EXPECT_TRUE(detail::synchronize(bound_stream));
  EXPECT_EQ(result, 1U);
}

TEST_F(LateDeviceRunTest, SumsScansAndViewReductionsAreCorrect) {
  auto array = counted(100);
  EXPECT_EQ(sum(array, bound_stream.stream), 4950.0);
  MemArray<double, 1> sums({100});
  sums.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(exclusive_scan(array, sums, bound_stream.stream), 4950.0);
  WriteLease<double, 1> const lease(array);
  BufferView const view(lease);
  BufferView const every_other = view.slice(0, {.step = 2});
  every_other.fill(1.0);
  double total = 0;
  view.sum().core().read_element(&total);
  EXPECT_EQ(total, 50 * 1.0 + 2500.0);
}

class DeviceRunWithoutPoolsTest : public DeviceRunTest {
 protected:
  DeviceRunWithoutPoolsTest() : DeviceRunTest({.pools = false}) {}
};

TEST_F(DeviceRunWithoutPoolsTest, SumsScansFillsAndReductionsWork) {
  auto array = counted(100);
  std::uint64_t const taken = sim.calls("cuMemAlloc");
  EXPECT_EQ(sum(array, bound_stream.stream), 4950.0);
  EXPECT_GT(sim.calls("cuMemAlloc"), taken);
  MemArray<double, 1> sums({100});
  sums.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(exclusive_scan(array, sums, bound_stream.stream), 4950.0);
  WriteLease<double, 1> const lease(array);
  BufferView const view(lease);
  view.slice(0, {.step = 2}).fill(1.0);
  double total = 0;
  view.sum().core().read_element(&total);
  EXPECT_EQ(total, 50 * 1.0 + 2500.0);
}

}  // namespace
}  // namespace memarray::test
