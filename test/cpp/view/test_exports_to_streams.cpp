// Work under a lease's id, ordered with consumers that received exports of the lease and work in their own streams.

#include <memarray/view/dlpack_tensor.hpp>

#include <chrono>
#include <optional>
#include <thread>

#include "array/array_test.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

class ExportsToStreamsTest : public test::DeviceArrayTest {
 protected:
  ExportsToStreamsTest() : context(get_primary_context(0)) {
    a.emplace(std::array<std::int64_t, 1>{100});
    a->move_memory(kDLCUDA, 0, 0);
    consumer = create_stream_handle(context);
    lease.emplace(a->state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{});
    lease->enter();
    tensor = detail::export_versioned(*lease, {.stream = &consumer});
  }
  ~ExportsToStreamsTest() override { tensor->deleter(tensor); }

  /// Submits delayed work to the consumer's stream that doubles each element and adds one.
  void submit() {
    auto* const elements = static_cast<int*>(testing::detail::reachable(tensor->dl_tensor.data));
    detail::launch_emulated(detail::bind_stream(consumer, context), [elements] {
      std::this_thread::sleep_for(10ms);
      for (int i = 0; i < 100; ++i) elements[i] = 2 * elements[i] + 1;
    });
  }
  void add_ten(StreamHandle const& stream) {
    for_each_index(*a, stream, [](int& element, auto const&) { element += 10; }, lease->lock_id());
  }

  ContextHandle context;
  std::optional<MemArray<int, 1>> a;
  StreamHandle consumer;
  std::optional<detail::LeaseCore> lease;
  DLManagedTensorVersioned* tensor = nullptr;
};

TEST_F(ExportsToStreamsTest, KernelsAreOrderedBetweenConsumerSubmissions) {
  StreamHandle const other = create_stream_handle(context);
  submit();                   // 1
  add_ten(other);             // 11
  submit();                   // 23
  add_ten(default_stream());  // 33
  submit();                   // 67
  lease->exit();
  EXPECT_EQ((*a)({99}), 67);
}

TEST_F(ExportsToStreamsTest, ConsumerWorkIsOrderedAfterReadingKernels) {
  MemArray<int, 1> seen({100});
  seen.move_memory(kDLCUDA, 0, 0);
  StreamHandle const other = create_stream_handle(context);
  for_each_index(
      {100}, other,
      [](auto const& i, auto const& from, auto const& to) {
        if (i[0] == 0) std::this_thread::sleep_for(30ms);
        *to.get(i[0]) = *from.get(i[0]);
      },
      read(*a, lease->lock_id()), overwrite(seen));
  submit();
  EXPECT_EQ(seen({99}), 0);
  EXPECT_EQ((*a)({99}, lease->lock_id()), 1);
}

TEST_F(ExportsToStreamsTest, ElementAccessIsOrderedAfterConsumerWork) {
  submit();
  EXPECT_EQ((*a)({5}, lease->lock_id()), 1);
  submit();
  a->write({5}, 100, lease->lock_id());
  submit();
  EXPECT_EQ((*a)({4}, lease->lock_id()), 7);
  EXPECT_EQ((*a)({5}, lease->lock_id()), 201);
}

TEST_F(ExportsToStreamsTest, PointerForAnyStreamWaitsForConsumerWork) {
  for (bool const writes : {false, true}) {
    submit();
    int const* const elements = writes ? a->ptr(lease->lock_id()) : std::as_const(*a).ptr(lease->lock_id());
    EXPECT_EQ(*static_cast<int const*>(testing::detail::reachable(elements)), writes ? 3 : 1);
  }
}

TEST_F(ExportsToStreamsTest, TensorForAnyStreamWaitsForConsumerWork) {
  submit();
  DLPackTensor const other = a->get_dlpack_tensor(true, lease->lock_id());
  EXPECT_EQ(*static_cast<int const*>(testing::detail::reachable(tensor->dl_tensor.data)), 1);
}

TEST_F(ExportsToStreamsTest, FillUnderTheLockIdIsOrderedAfterConsumerWork) {
  submit();
  a->fill(4, lease->lock_id());
  submit();
  lease->exit();
  EXPECT_EQ((*a)({0}), 9);
}

TEST_F(ExportsToStreamsTest, AViewThatAnotherThreadClosesDuringItsExportIsExportedWhole) {
  static detail::ViewCore* closed = nullptr;
  detail::ViewCore view(*lease);
  std::byte const* const data = view.data();
  Hooks const before = hooks();
  // Stands for a thread that acquires the runtime's lock as soon as it is released.
  set_hooks({.release = []() noexcept -> void* { return closed->close(), nullptr; }});
  for (bool const to_host : {false, true}) {
    detail::ViewCore again = view;
    closed = &again;
    DLManagedTensorVersioned* const exported = detail::export_versioned(again, {.stream = &consumer, .copy = to_host});
    EXPECT_FALSE(again.is_open());
    EXPECT_EQ(exported->dl_tensor.data == data, !to_host);
    EXPECT_EQ(exported->dl_tensor.shape[0], 100);
    exported->deleter(exported);
  }
  detail::ViewCore again = view;
  closed = &again;
  EXPECT_EQ(again.to_device(Device{}).layout().size(), 100);
  set_hooks(before);
}

}  // namespace
}  // namespace memarray
