// What is said of a driver that is not there or cannot be used; each case in a process of its own, as a process looks
// for its driver once.
#include <memarray/base/errors.hpp>
#include <memarray/resource/context_handle.hpp>
#include <memarray/resource/driver_table.hpp>
#include <memarray/resource/last_error.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace memarray::test {
namespace {

// What the process that is started does.
TEST(DriverAbsenceChildTest, Prints) {
  if (!std::getenv("MEMARRAY_DRIVER_ABSENCE_CHILD")) GTEST_SKIP() << "for the tests below";
  std::printf("devices %d\n", device_count());
  std::printf("code %d why %s\n", driver_absence().code, driver_absence().why);
  if (get_primary_context(0)) return;
  std::printf("creation %d\n", peek_last_error());
  try {
    throw_last_error("making an array on cuda:0");
  } catch (CudaError const& error) {
    std::printf("error %d %s\n", error.code(), error.what());
  }
}

std::string output_with(std::string const& environment) {
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return "no program";
  std::string const command = environment + " MEMARRAY_DRIVER_ABSENCE_CHILD=1 '" + program +
                              "' --gtest_filter=DriverAbsenceChildTest.Prints 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return "no shell";
  std::string output;
  char piece[256];
  while (std::fgets(piece, sizeof piece, pipe)) output += piece;
  pclose(pipe);
  return output;
}

std::string with_fake_driver(std::string const& settings) {
  return output_with("LD_LIBRARY_PATH='" MEMARRAY_FAKE_DRIVER "' " + settings);
}

#define EXPECT_SAYS(output, words) EXPECT_NE((output).find(words), std::string::npos) << (output)

TEST(DriverAbsenceTest, ADriverThatWorksIsNotAbsent) {
  std::string const output = with_fake_driver("FAKE_DRIVER_DEVICES=2");
  EXPECT_SAYS(output, "devices 2");
  EXPECT_SAYS(output, "code 0 why \n");
}

TEST(DriverAbsenceTest, AFunctionThatIsLackingIsNamed) {
  std::string const output = with_fake_driver("FAKE_DRIVER_LACKS=cuMemAllocFromPoolAsync");
  EXPECT_SAYS(output, "devices 0");
  EXPECT_SAYS(output, "code 500 why the CUDA driver lacks cuMemAllocFromPoolAsync of CUDA 11.2: update it");
  EXPECT_SAYS(output, "creation 500");
  EXPECT_SAYS(output, "error 500 making an array on cuda:0 failed: the CUDA driver lacks cuMemAllocFromPoolAsync");
}

TEST(DriverAbsenceTest, ADriverThatDoesNotStartSaysItsError) {
  std::string const output = with_fake_driver("FAKE_DRIVER_INIT=999");
  EXPECT_SAYS(output, "devices 0");
  EXPECT_SAYS(output, "code 999 why the CUDA driver does not start: cuInit says CUDA_ERROR_OF_THE_FAKE_DRIVER");
  EXPECT_SAYS(output, "creation 999");
}

TEST(DriverAbsenceTest, NoDevicesIsAnInvalidDevice) {
  std::string const output = with_fake_driver("FAKE_DRIVER_DEVICES=0");
  EXPECT_SAYS(output, "devices 0");
  EXPECT_SAYS(output, "code 0 why");
  EXPECT_SAYS(output, "creation 101");
}

TEST(DriverAbsenceTest, NoDriverSaysSo) {
  if (driver_absence().code != 100) GTEST_SKIP() << "this machine has a driver";
  std::string const output = output_with("");
  EXPECT_SAYS(output, "code 100 why no CUDA driver (libcuda.so.1) is installed");
  EXPECT_SAYS(output, "error 100 making an array on cuda:0 failed: no CUDA driver");
}

}  // namespace
}  // namespace memarray::test
