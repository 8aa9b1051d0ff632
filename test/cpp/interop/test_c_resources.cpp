#include "c_api_test.hpp"
#include "interop/objects.hpp"
#include "interop/open_resources.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/memarray.hpp>

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace memarray::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string raised;

void raise() noexcept {
  try {
    throw;
  } catch (std::exception const& error) {
    raised = error.what();
  }
}

bool view_of(void* object, detail::ViewCore& view) noexcept {
  if (object) view = *static_cast<detail::ViewCore const*>(object);
  return object != nullptr;
}

/// A bridge whose objects are array states, views, or counters.
detail::ObjectBridge const bridge = {
    .array_in = [](void* object) noexcept { return static_cast<detail::ArrayState*>(object); },
    .view_in = view_of,
    .show_array = [](detail::ArrayState& state) noexcept -> void* { return &state; },
    .show_view = [](detail::ViewCore const& view) noexcept -> void* { return view.data(); },
    .import_view = view_of,
    .line_of_caller = [] { return std::string("here"); },
    .log_reports = []() noexcept {},
};

class ResourcesTest : public CApiTest {
 protected:
  ResourcesTest() {
    raised.clear();
    set_hooks({.raise = raise, .drop_object = [](void* object) noexcept { count(object); }});
    detail::set_object_bridge(bridge);
  }
  ~ResourcesTest() override {
    trace_resources(false);
    set_hooks({});
  }

  static void close(MemArrayResource& resource) { resource.close_func(resource.data); }

  MemArray<double, 1> array{{3}};
};

TEST_F(ResourcesTest, ObjectIsHeldUntilResourceIsClosed) {
  std::atomic<int> drops = 0;
  MemArrayResource resource{};
  api.hold_object(&drops, "a test", &resource);
  EXPECT_EQ(drops, 0);
  std::thread([&] { close(resource); }).join();
  EXPECT_EQ(drops, 1);
}

TEST_F(ResourcesTest, ResourcesOpenedWhileTracingAreListed) {
  std::atomic<int> drops = 0;
  MemArrayResource before{};
  api.hold_object(&drops, "before", &before);
  trace_resources(true);
  EXPECT_TRUE(traces_resources());
  std::vector<MemArrayResource> made(3);
  for (MemArrayResource& resource : made) api.hold_object(&drops, "a test", &resource);
  EXPECT_THAT(open_resources(), ElementsAre("a test, opened at here", "a test, opened at here", HasSubstr("here")));
  trace_resources(false);
  close(made[1]);
  EXPECT_EQ(open_resources().size(), 2U);
  close(made[0]);
  close(made[2]);
  close(before);
  EXPECT_EQ(drops, 4);
  EXPECT_TRUE(open_resources().empty());
}

TEST_F(ResourcesTest, ThreadsOpenAndCloseResourcesConcurrently) {
  trace_resources(true);
  std::atomic<int> drops = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        MemArrayResource resource{};
        api.hold_object(&drops, "a test", &resource);
        close(resource);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(drops, 800);
  EXPECT_TRUE(open_resources().empty());
}

TEST_F(ResourcesTest, ArrayPointerHoldsLease) {
  MemArrayResource resource{};
  auto* const pointer = static_cast<double*>(api.array_as_pointer(&array.state(), 1, &resource));
  ASSERT_NE(pointer, nullptr);
  pointer[2] = 7;
  EXPECT_THROW(array.fill(0), LockError);
  MemArrayResource other{nullptr, &other};
  EXPECT_EQ(api.array_as_pointer(&array.state(), 0, &other), nullptr);
  EXPECT_THAT(raised, HasSubstr("lease"));
  EXPECT_EQ(other.data, static_cast<void*>(&other));
  close(resource);
  EXPECT_EQ(array({2}), 7);
  EXPECT_EQ(api.array_as_pointer(nullptr, 0, &other), nullptr);
}

TEST_F(ResourcesTest, ViewPointerCountsAsExport) {
  ConstBufferView const view = array.view();
  MemArrayResource resource{};
  EXPECT_EQ(api.view_as_pointer(const_cast<detail::ViewCore*>(&view.core()), 0, &resource), view.data());
  EXPECT_EQ(array.state().residency().exports().read_only, 2U);
  close(resource);
  EXPECT_EQ(array.state().residency().exports().read_only, 1U);
  EXPECT_EQ(api.view_as_pointer(const_cast<detail::ViewCore*>(&view.core()), 1, &resource), nullptr);
  EXPECT_THAT(raised, HasSubstr("read-only"));
}

TEST_F(ResourcesTest, ArraysAndViewsConvertToObjectsAndBack) {
  MemArrayArrayRef const ref = arrays.array_from_object(&array.state());
  double const five = 5;
  EXPECT_EQ(arrays.fill_array(ref, &five, -1), 0);
  EXPECT_EQ(array({1}), 5);
  EXPECT_EQ(arrays.array_to_object(ref), &array.state());
  arrays.release_array(ref);
  EXPECT_EQ(arrays.array_from_object(nullptr), nullptr);
  EXPECT_EQ(arrays.array_to_object(nullptr), nullptr);
  EXPECT_THAT(raised, HasSubstr("NULL"));

  ConstBufferView const view = array.view();
  MemArrayViewRef const shown = views.view_from_object(const_cast<detail::ViewCore*>(&view.core()));
  EXPECT_EQ(views.view_data(shown, 0), view.data());
  EXPECT_EQ(views.view_to_object(shown), view.data());
  views.release_view(shown);
  EXPECT_EQ(views.view_from_object(nullptr), nullptr);
  EXPECT_EQ(views.view_to_object(nullptr), nullptr);
  EXPECT_EQ(api.peek_last_error(), 0);
}

}  // namespace
}  // namespace memarray::test
