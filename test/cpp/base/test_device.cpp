#include <memarray/base/device.hpp>
#include <memarray/base/errors.hpp>

#include <gtest/gtest.h>

namespace memarray::test {
namespace {

TEST(DeviceTest, DefaultsToCpu) {
  EXPECT_TRUE(Device{}.is_cpu());
  EXPECT_EQ(Device{}, (Device{kDLCPU, 0}));
  EXPECT_FALSE((Device{kDLCUDA, 0}).is_cpu());
  EXPECT_NE((Device{kDLCUDA, 0}), (Device{kDLCUDA, 1}));
}

TEST(DeviceTest, ConvertsToStringAndBack) {
  for (Device const device : {Device{}, Device{kDLCUDA, 0}, Device{kDLCUDA, 17}})
    EXPECT_EQ(device_from_string(to_string(device)), device);
  EXPECT_EQ(device_from_string("cuda"), (Device{kDLCUDA, 0}));
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string({kDLCUDA, 3}), "cuda:3");
  EXPECT_EQ(to_string({kDLCUDAManaged, 1}), "cuda_managed:1");
  EXPECT_EQ(to_string({kDLExtDev, 2}), "device type 12:2");
}

TEST(DeviceTest, InvalidStringsAreRefused) {
  for (char const* const word :
       {"", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "cuda:99999999999", "gpu"})
    EXPECT_THROW(static_cast<void>(device_from_string(word)), ValueError) << word;
}

}  // namespace
}  // namespace memarray::test
