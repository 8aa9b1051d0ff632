#include "memory/last_use.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/live_memory.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/memory/default_resource.hpp>
#include <memarray/memory/driver_resource.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "device_test.hpp"

namespace memarray::test {
namespace {

using detail::Block;
using detail::BlockPtr;
using detail::copy;
using detail::CopyMode;
using detail::fill;
using detail::Use;

/// Returns bytes whose period does not divide the size of a copy's piece.
std::vector<unsigned char> counted(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(1 + i % 251);
  return bytes;
}

class TransferTest : public DeviceTest, public ::testing::WithParamInterface<CopyMode> {};

TEST_P(TransferTest, RoundTripThroughADeviceKeepsTheBytes) {
  for (std::size_t const count : {std::size_t{1}, std::size_t{1000}, (std::size_t{33} << 20) + 7}) {
    std::vector<unsigned char> const bytes = counted(count);
    BlockPtr const source = on_host(bytes);
    BlockPtr const device = on_device(count, first);
    BlockPtr const back = on_host(std::vector<unsigned char>(count));
    copy(*device, *source, count, first, GetParam());
    copy(*back, *device, count, second, GetParam());
    EXPECT_TRUE(bytes_in(*back, first) == bytes) << count;
  }
}

TEST_P(TransferTest, CopiesWithinADeviceAndBetweenDevices) {
  std::vector<unsigned char> const bytes = counted(5000);
  BlockPtr const source = on_host(bytes);
  BlockPtr const one = on_device(5000, first);
  BlockPtr const twin = on_device(5000, second);
  detail::BoundStream const there = make_bound_stream(1);
  BlockPtr const two = on_device(5000, there, 1);
  copy(*one, *source, 5000, first, GetParam());
  copy(*twin, *one, 5000, second, GetParam());
  copy(*two, *twin, 5000, there, GetParam());
  EXPECT_EQ(bytes_in(*two, there), bytes);
}

TEST_P(TransferTest, PinnedAndManagedMemoryNeedNoStaging) {
  ContextHandle const context = first.context;
  for (DriverResource const& resource : {DriverResource::pinned(context), DriverResource::managed(context)}) {
    BlockPtr const host = Block::allocate(resource, 4096, Block::Contents::zero);
    std::memset(host->data(), 7, 4096);
    BlockPtr const device = on_device(4096, first);
    std::uint64_t const functions = sim.calls("cuLaunchHostFunc");
    copy(*device, *host, 4096, first, GetParam());
    host->uses()->synchronize(Use::write, "a test");
    std::memset(host->data(), 0, 4096);
    copy(*host, *device, 4096, second, GetParam());
    EXPECT_EQ(bytes_in(*host, first), std::vector<unsigned char>(4096, 7));
    EXPECT_EQ(sim.calls("cuLaunchHostFunc"), functions);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, TransferTest, ::testing::Values(CopyMode::async, CopyMode::blocking),
                         [](auto const& info) { return info.param == CopyMode::blocking ? "now" : "later"; });

class FillTest : public DeviceTest {};

TEST_F(FillTest, FillsElementsOfEverySizeAndNothingElse) {
  for (std::size_t const itemsize : {1, 2, 3, 8, 16}) {
    for (std::size_t const count : {1, 7, 100'000}) {
      BlockPtr const device = on_device(itemsize * (count + 2), first);
      std::vector<unsigned char> const zero(itemsize, 0);
      std::vector<unsigned char> const item = counted(itemsize);
      fill(*device, 0, zero.data(), itemsize, count + 2, first);
      fill(*device, itemsize, item.data(), itemsize, count, second);
      std::vector<unsigned char> const bytes = bytes_in(*device, first);
      bool right = true;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bool const inside = i >= itemsize && i < itemsize * (count + 1);
        right = right && bytes[i] == (inside ? item[i % itemsize] : 0);
      }
      EXPECT_TRUE(right) << itemsize << " bytes " << count << " times";
    }
  }
}

TEST_F(FillTest, FillsElementsLargerThanACopyPiece) {
  std::size_t const itemsize = (std::size_t{16} << 20) + 4096;
  std::vector<unsigned char> const item = counted(itemsize);
  BlockPtr const device = on_device(2 * itemsize, first);
  fill(*device, 0, item.data(), itemsize, 2, first);
  std::vector<unsigned char> const bytes = bytes_in(*device, first);
  EXPECT_EQ(std::memcmp(bytes.data(), item.data(), itemsize), 0);
  EXPECT_EQ(std::memcmp(bytes.data() + itemsize, item.data(), itemsize), 0);
}

TEST_F(FillTest, WrittenBytesCanBeReadBack) {
  BlockPtr const device = on_device(64, first);
  unsigned char const zero = 0;
  fill(*device, 0, &zero, 1, 64, first);
  int const number = 12345;
  detail::write_bytes(*device, 8, &number, sizeof number);
  int read = 0;
  detail::read_bytes(*device, 8, &read, sizeof read);
  EXPECT_EQ(read, number);
}

TEST_F(FillTest, AsyncCopyDoesNotBlockTheCaller) {
  BlockPtr const source = on_host(counted(1 << 20));
  BlockPtr const back = on_host(std::vector<unsigned char>(1 << 20));
  BlockPtr const device = on_device(1 << 20, first);
  Gate gate(*sim.table(), *first.stream);
  copy(*device, *source, 1 << 20, first, CopyMode::async);
  copy(*back, *device, 1 << 20, second, CopyMode::async);
  EXPECT_FALSE(detail::is_over(*source->uses()));
  EXPECT_FALSE(detail::is_over(*back->uses()));
  gate.open();
  EXPECT_EQ(bytes_in(*back, first), counted(1 << 20));
}

TEST_F(FillTest, LargeCopyInABusyStreamHoldsUpNoOtherWork) {
  std::vector<unsigned char> const bytes = counted((std::size_t{40} << 20) + 3);
  BlockPtr const source = on_host(bytes);
  BlockPtr const back = on_host(std::vector<unsigned char>(bytes.size()));
  BlockPtr const late = on_device(bytes.size(), first);
  BlockPtr const early = on_device(bytes.size(), second);
  ASSERT_TRUE(synchronize(first));
  Gate gate(*sim.table(), *first.stream);
  copy(*late, *source, bytes.size(), first, CopyMode::async);
  copy(*early, *source, bytes.size(), second, CopyMode::async);
  copy(*back, *early, bytes.size(), second, CopyMode::async);
  bool over = false;
  for (int waited = 0; !over && waited < 4000; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    over = detail::is_over(*back->uses());
  }
  EXPECT_TRUE(over) << "copies in another stream";
  EXPECT_FALSE(detail::is_over(*late->uses()));
  if (over) {
    unsigned char last = 0;
    detail::read_bytes(*early, bytes.size() - 1, &last, 1);
    EXPECT_EQ(last, bytes.back());
  }
  gate.open();
  EXPECT_EQ(bytes_in(*back, second), bytes);
  EXPECT_EQ(bytes_in(*late, first), bytes);
}

TEST_F(FillTest, HostReadWaitsForThePendingCopy) {
  BlockPtr const source = on_host(counted(1 << 20));
  BlockPtr const back = on_host(std::vector<unsigned char>(1 << 20));
  BlockPtr const device = on_device(1 << 20, first);
  copy(*device, *source, 1 << 20, first, CopyMode::blocking);
  Gate gate(*sim.table(), *first.stream);
  copy(*back, *device, 1 << 20, first, CopyMode::async);
  std::atomic<bool> opened{false};
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    opened = true;
    gate.open();
  });
  back->uses()->synchronize(Use::read, "a test");
  EXPECT_TRUE(opened) << "the copy cannot have begun";
  EXPECT_EQ(std::memcmp(back->data(), source->data(), 1 << 20), 0);
  opener.join();
}

TEST_F(FillTest, DroppedMemoryWaitsForItsCopies) {
  detail::run_deferred();
  std::int64_t const before = live_memory().blocks;
  {
    BlockPtr source = on_host(counted(100'000));
    BlockPtr device = on_device(100'000, first);
    Gate gate(*sim.table(), *first.stream);
    copy(*device, *source, 100'000, first, CopyMode::async);
    source = {};
    device = {};
    detail::run_deferred();
    EXPECT_EQ(live_memory().blocks, before + 2) << "the host's memory and the staging in use still";
    EXPECT_EQ(sim.live().device_memory, 0) << "freed in the order of the stream";
    gate.open();
  }
  ASSERT_TRUE(synchronize(first));
  detail::run_deferred();
  EXPECT_EQ(live_memory().blocks, before);
}

class FailingTransferTest : public DeviceTest, public ::testing::WithParamInterface<CopyMode> {};

TEST_P(FailingTransferTest, CopySucceedsOrCanBeRetriedAfterADriverFailure) {
#if defined(__SANITIZE_THREAD__)
  constexpr int most = 1;  // each takes seconds under TSan
#else
  constexpr int most = 3;
#endif
  std::vector<unsigned char> const bytes = counted((std::size_t{17} << 20) + 5);
  for (char const* const function : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuLaunchHostFunc", "cuMemHostAlloc",
                                     "cuEventRecord", "cuEventCreate", "cuStreamWaitEvent", "cuEventSynchronize"}) {
    for (int nth = 1; nth <= most; ++nth) {
      BlockPtr const source = on_host(bytes);
      BlockPtr const back = on_host(std::vector<unsigned char>(bytes.size()));
      BlockPtr device = on_device(bytes.size(), first);
      sim.fail(function, nth, 999, 1);
      bool failed = false;
      try {
        copy(*device, *source, bytes.size(), first, GetParam());
        copy(*back, *device, bytes.size(), second, GetParam());
      } catch (CudaError const&) {
        failed = true;
      }
      sim.clear();
      if (failed) {
        copy(*device, *source, bytes.size(), first, GetParam());
        copy(*back, *device, bytes.size(), second, GetParam());
      }
      EXPECT_TRUE(bytes_in(*back, first) == bytes) << function << " " << nth;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Endings, FailingTransferTest, ::testing::Values(CopyMode::async, CopyMode::blocking),
                         [](auto const& info) { return info.param == CopyMode::blocking ? "now" : "later"; });

class NoPeerTest : public DeviceTest {
 protected:
  NoPeerTest() : DeviceTest({.peer_access = false}) {}
};

TEST_F(NoPeerTest, CopyBetweenDevicesGoesThroughTheHost) {
  std::vector<unsigned char> const bytes = counted((std::size_t{35} << 20) + 5);
  BlockPtr const source = on_host(bytes);
  BlockPtr const one = on_device(bytes.size(), first);
  detail::BoundStream const there = make_bound_stream(1);
  BlockPtr const two = on_device(bytes.size(), there, 1);
  sim.delay(std::chrono::milliseconds(1));
  copy(*one, *source, bytes.size(), first, CopyMode::async);
  copy(*two, *one, bytes.size(), there, CopyMode::async);
  sim.delay({});
  EXPECT_EQ(sim.calls("cuMemcpyPeerAsync"), 0u);
  EXPECT_TRUE(bytes_in(*two, there) == bytes);
}

}  // namespace
}  // namespace memarray::test
