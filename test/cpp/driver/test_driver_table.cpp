#include <memarray/driver/driver_table.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <thread>
#include <vector>

namespace memarray {
namespace {

TEST(DriverTable, WithoutADriverThereAreNoDevices) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) {
    GTEST_SKIP() << "this machine has one";
  }
  EXPECT_EQ(driver(), nullptr);
  EXPECT_EQ(device_count(), 0);
}

TEST(DriverTable, HasEveryFunctionIfADriverIsInstalled) {
  DriverTable const* const table = driver();
  if (table == nullptr) {
    GTEST_SKIP() << "no driver on this machine";
  }
#define EXPECT_FUNCTION(name, version, parameters) EXPECT_NE(table->name, nullptr);
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(EXPECT_FUNCTION)
#undef EXPECT_FUNCTION
  int version = 0;
  EXPECT_EQ(table->cuDriverGetVersion(&version), 0);
  EXPECT_GE(version, 12000);
  char const* name = nullptr;
  EXPECT_EQ(table->cuGetErrorName(2, &name), 0);
  EXPECT_EQ(std::string_view(name), "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_GE(device_count(), 1);
}

TEST(DriverTable, AllThreadsGetTheSameTable) {
  std::vector<DriverTable const*> found(4);
  std::vector<std::thread> threads;
  for (auto& table : found) {
    threads.emplace_back([&table] { table = driver(); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (auto const* const table : found) {
    EXPECT_EQ(table, driver());
  }
}

TEST(DriverTable, IsUnavailableInAForkedChild) {
  static_cast<void>(driver());
  pid_t const child = fork();
  if (child == 0) {
    _exit(driver() == nullptr && device_count() == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace memarray
