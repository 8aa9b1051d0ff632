#include <memarray/detail/launch/runtime_check.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace memarray::detail {
namespace {

/// Keeps an error until it is queried, like the CUDA runtime.
struct StickyRuntime {
  static constexpr int success = 0;
  int* kept;

  [[nodiscard]] int call(int result) const { return result != 0 ? *kept = result : 0; }
  /// Returns and clears the error of an earlier call.
  [[nodiscard]] int launch() const { return std::exchange(*kept, 0); }
  void take_last_error() const { *kept = 0; }
  [[noreturn]] void throw_error(int code, char const* what) const {
    throw std::runtime_error(std::string(what) + ": " + std::to_string(code));
  }
};

TEST(RuntimeCheckTest, AnErrorIsThrownOnceAndNotByTheNextLaunch) {
  int kept = 0;
  StickyRuntime const runtime{&kept};
  EXPECT_NO_THROW(check_runtime(runtime, runtime.launch(), "a launch"));
  try {
    check_runtime(runtime, runtime.call(2), "taking scratch memory");
    FAIL();
  } catch (std::runtime_error const& error) {
    EXPECT_STREQ(error.what(), "taking scratch memory: 2");
  }
  EXPECT_NO_THROW(check_runtime(runtime, runtime.launch(), "the next sum"));
}

}  // namespace
}  // namespace memarray::detail
