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
  EXPECT_NO_THROW(check_runtime(runtime, "a launch", [&] { return runtime.launch(); }));
  try {
    check_runtime(runtime, "taking scratch memory", [&] { return runtime.call(2); });
    FAIL();
  } catch (std::runtime_error const& error) {
    EXPECT_STREQ(error.what(), "taking scratch memory: 2");
  }
  EXPECT_NO_THROW(check_runtime(runtime, "the next sum", [&] { return runtime.launch(); }));
}

// A launch may block until Python code has run.
TEST(RuntimeCheckTest, CallsAreMadeWithoutTheInterpreterLock) {
  static bool is_held = true;
  Hooks const before = hooks();
  set_hooks({.release = []() noexcept -> void* { return std::exchange(is_held, false) ? &is_held : nullptr; },
             .reacquire = [](void*) noexcept { is_held = true; }});
  int kept = 0;
  StickyRuntime const runtime{&kept};
  bool was_held = true;
  auto const launch = [&](int result) {
    was_held = is_held;
    return runtime.call(result);
  };
  check_runtime(runtime, "a launch", [&] { return launch(0); });
  EXPECT_FALSE(was_held);
  EXPECT_TRUE(is_held);
  EXPECT_THROW(check_runtime(runtime, "a launch", [&] { return launch(2); }), std::runtime_error);
  EXPECT_FALSE(was_held);
  EXPECT_TRUE(is_held);
  set_hooks(before);
}

}  // namespace
}  // namespace memarray::detail
