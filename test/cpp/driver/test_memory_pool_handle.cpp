#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>

#include "handle_test.hpp"

namespace memarray::test {
namespace {

class MemoryPoolHandleTest : public HandleTest {};

TEST_F(MemoryPoolHandleTest, PointerKeepsItsPoolAlive) {
  MemoryPoolHandle pool = create_memory_pool_handle(0);
  ASSERT_TRUE(pool);
  DevicePtrHandle pointer = allocate_from_pool(pool, default_stream(), 1000);
  ASSERT_TRUE(pointer);
  pool.reset();
  EXPECT_EQ(devices.live().pools, 1);
  pointer.reset();
  EXPECT_EQ(devices.live(), testing::LiveResources());
}

TEST_F(MemoryPoolHandleTest, DefaultPoolOfADeviceIsNotDestroyed) {
  MemoryPoolHandle const pool = get_device_memory_pool(1);
  ASSERT_TRUE(pool);
  EXPECT_EQ(as_cu(pool), as_cu(get_device_memory_pool(1)));
  EXPECT_EQ(device_id_of(context_of(pool)), 1);
  EXPECT_EQ(devices.live().pools, 0);
}

TEST_F(MemoryPoolHandleTest, CountsAndTrims) {
  MemoryPoolHandle const pool = create_memory_pool_handle(0);
  ContextHandle const context = context_of(pool);
  StreamHandle const stream = create_stream_handle(context);
  MemoryPoolStatistics now;
  {
    DevicePtrHandle const pointer = allocate_from_pool(pool, stream, 100'000);
    ASSERT_TRUE(get_statistics(pool, now));
    EXPECT_GE(now.used, 100'000u);
  }
  devices.table()->cuStreamSynchronize(as_cu(stream));
  ASSERT_TRUE(get_statistics(pool, now));
  EXPECT_EQ(now.used, 0u);
  EXPECT_GE(now.used_high, 100'000u);
  EXPECT_GE(now.reserved, 100'000u) << "kept, as the threshold says";
  ASSERT_TRUE(trim(pool));
  ASSERT_TRUE(get_statistics(pool, now));
  EXPECT_EQ(now.reserved, 0u);
  EXPECT_TRUE(set_release_threshold(pool, 0));
}

TEST_F(MemoryPoolHandleTest, AFailureAfterTheCreationLeavesNoPool) {
  devices.fail("cuMemPoolSetAttribute", 1, 1);
  EXPECT_FALSE(create_memory_pool_handle(0));
  EXPECT_EQ(get_last_error(), 1);
  EXPECT_EQ(devices.live(), testing::LiveResources());
}

TEST_F(MemoryPoolHandleTest, FailedStatisticsLeaveTheOutputUnchanged) {
  MemoryPoolHandle const pool = create_memory_pool_handle(0);
  MemoryPoolStatistics now{.reserved = 5, .reserved_high = 6, .used = 7, .used_high = 8};
  devices.fail("cuMemPoolGetAttribute", 3, 1);
  EXPECT_FALSE(get_statistics(pool, now));
  EXPECT_EQ(get_last_error(), 1);
  EXPECT_EQ(now.used, 7u);
}

TEST(MemoryPoolHandleWithoutPoolsTest, CreationFailsWithNotSupported) {
  testing::SimulatedDevices const devices({.pools = false});
  EXPECT_FALSE(create_memory_pool_handle(0));
  EXPECT_EQ(get_last_error(), 801);
  EXPECT_FALSE(get_device_memory_pool(0));
  EXPECT_EQ(get_last_error(), 801);
}

}  // namespace
}  // namespace memarray::test
