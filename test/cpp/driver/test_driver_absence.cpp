// Error messages for a missing or unusable driver. Each case runs in its own process, because a process looks for its
// driver once.
#include <memarray/base/errors.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace memarray::test {
namespace {

// The part that runs in the started process.
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

// Uses the machine's driver before a fork and in the child.
TEST(DriverAbsenceChildTest, Forks) {
  if (!std::getenv("MEMARRAY_DRIVER_ABSENCE_CHILD")) GTEST_SKIP() << "for the tests below";
  ContextHandle const context = get_primary_context(0);
  StreamHandle const stream = create_stream_handle(context);
  std::printf("before %d\n", driver_absence().code);
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    std::printf("child devices %d code %d why %s\n", device_count(), driver_absence().code, driver_absence().why);
    bool const made = static_cast<bool>(create_stream_handle(context));
    std::printf("child stream %d error %d\n", made ? 1 : 0, peek_last_error());
    std::fflush(stdout);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  std::printf("parent devices %d code %d\n", device_count(), driver_absence().code);
}

// Uses streams of the machine's driver and of simulated devices together.
TEST(DriverAbsenceChildTest, Mixes) {
  if (!std::getenv("MEMARRAY_DRIVER_ABSENCE_CHILD")) GTEST_SKIP() << "for the tests below";
  for (bool const machine_first : {true, false}) {
    StreamHandle on_machine = create_stream_handle(get_primary_context(0));
    testing::SimulatedDevices sim({.count = 3});
    StreamHandle simulated = create_stream_handle(get_primary_context(0));
    std::printf("streams %d %d devices %d\n", on_machine ? 1 : 0, simulated ? 1 : 0, device_count());
    std::printf("same table %d\n", driver_of(context_of(on_machine)) == driver_of(context_of(simulated)) ? 1 : 0);
    std::printf("live %d", static_cast<int>(sim.live().streams));
    (machine_first ? on_machine : simulated) = {};
    std::printf(" %d", static_cast<int>(sim.live().streams));
    (machine_first ? simulated : on_machine) = {};
    std::printf(" %d violations %d\n", static_cast<int>(sim.live().total()), static_cast<int>(sim.violations().size()));
    sim.end();
    std::printf("devices again %d\n", device_count());
  }
}

std::string output_with(std::string const& environment, char const* test = "Prints") {
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return "no program";
  std::string const command = environment + " MEMARRAY_DRIVER_ABSENCE_CHILD=1 '" + program +
                              "' --gtest_filter=DriverAbsenceChildTest." + test + " 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return "no shell";
  std::string output;
  char piece[256];
  while (std::fgets(piece, sizeof piece, pipe)) output += piece;
  pclose(pipe);
  return output;
}

std::string with_fake_driver(std::string const& settings, char const* test = "Prints") {
  return output_with("LD_LIBRARY_PATH='" MEMARRAY_FAKE_DRIVER "' " + settings, test);
}

#define EXPECT_SAYS(output, words) EXPECT_NE((output).find(words), std::string::npos) << (output)

TEST(DriverAbsenceTest, ADriverThatWorksIsNotAbsent) {
  std::string const output = with_fake_driver("FAKE_DRIVER_DEVICES=2");
  EXPECT_SAYS(output, "devices 2");
  EXPECT_SAYS(output, "code 0 why \n");
}

TEST(DriverAbsenceTest, MissingFunctionIsNamedInTheReason) {
  std::string const output = with_fake_driver("FAKE_DRIVER_LACKS=cuMemAllocFromPoolAsync");
  EXPECT_SAYS(output, "devices 0");
  EXPECT_SAYS(output, "code 500 why the CUDA driver lacks cuMemAllocFromPoolAsync of CUDA 11.2: update it");
  EXPECT_SAYS(output, "creation 500");
  EXPECT_SAYS(output, "error 500 making an array on cuda:0 failed: the CUDA driver lacks cuMemAllocFromPoolAsync");
}

TEST(DriverAbsenceTest, FailedInitializationIsGivenAsTheReason) {
  std::string const output = with_fake_driver("FAKE_DRIVER_INIT=999");
  EXPECT_SAYS(output, "devices 0");
  EXPECT_SAYS(output, "code 999 why the CUDA driver does not start: cuInit returned CUDA_ERROR_OF_THE_FAKE_DRIVER");
  EXPECT_SAYS(output, "creation 999");
}

TEST(DriverAbsenceTest, DriverWithoutDevicesIsGivenAsTheReason) {
  for (char const* const settings : {"FAKE_DRIVER_DEVICES=0", "FAKE_DRIVER_INIT=100"}) {
    std::string const output = with_fake_driver(settings);
    EXPECT_SAYS(output, "devices 0");
    EXPECT_SAYS(output, "code 100 why the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide them)");
    EXPECT_SAYS(output, "creation 100");
  }
}

TEST(DriverAbsenceTest, ForkIsGivenAsTheReasonInAChild) {
  std::string const output = with_fake_driver("FAKE_DRIVER_DEVICES=1", "Forks");
  EXPECT_SAYS(output, "before 0");
  EXPECT_SAYS(output, "child devices 0 code 3 why this process was forked from one that had begun to use the CUDA");
  EXPECT_SAYS(output, "child stream 0 error 3");
  EXPECT_SAYS(output, "parent devices 1 code 0");
}

TEST(DriverAbsenceTest, RealAndSimulatedStreamsCoexist) {
  std::string const output = with_fake_driver("FAKE_DRIVER_DEVICES=1", "Mixes");
  EXPECT_SAYS(output, "streams 1 1 devices 3\nsame table 0\nlive 1 1 0 violations 0\ndevices again 1");
  EXPECT_SAYS(output, "streams 1 1 devices 3\nsame table 0\nlive 1 0 0 violations 0\ndevices again 1");
}

TEST(DriverAbsenceTest, MissingDriverIsGivenAsTheReason) {
  if (driver_absence().code != 100) GTEST_SKIP() << "this machine has a driver";
  std::string const output = output_with("");
  EXPECT_SAYS(output, "code 100 why no CUDA driver (libcuda.so.1) is installed");
  EXPECT_SAYS(output, "error 100 making an array on cuda:0 failed: no CUDA driver");
}

}  // namespace
}  // namespace memarray::test
