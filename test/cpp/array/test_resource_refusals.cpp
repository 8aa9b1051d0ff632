// Memory that only a device can reach is refused wherever the host would use it: for each memory type, each adaptor
// around its resource, and each way to pass a resource.
#include "memory/thrust_allocator.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/memory/delaying_adaptor.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/failing_adaptor.hpp>
#include <memarray/memory/limiting_adaptor.hpp>
#include <memarray/memory/pageable_resource.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/statistics_adaptor.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "array_test.hpp"

namespace memarray {
namespace {

using ::testing::HasSubstr;

struct Source {
  char const* name;
  std::function<MemoryResource()> make;
  MemoryType type;
};

std::vector<Source> const& sources() {
  static std::vector<Source> const all = {
      {"normal", [] { return MemoryResource(PageableResource()); }, MemoryType::normal},
      {"pinned", [] { return MemoryResource(DriverResource::pinned(get_primary_context(0))); }, MemoryType::pinned},
      {"unified", [] { return MemoryResource(DriverResource::managed(get_primary_context(0))); }, MemoryType::unified},
      {"pool", [] { return MemoryResource(DriverResource::from_pool(get_device_memory_pool(0))); }, MemoryType::device},
      {"device", [] { return MemoryResource(DriverResource::device(get_primary_context(0))); }, MemoryType::device},
      {"of_device", [] { return MemoryResource(DriverResource::of_device(1)); }, MemoryType::device},
  };
  return all;
}

struct Wrapper {
  char const* name;
  std::function<MemoryResource(MemoryResource)> wrap;
  bool pools = false;
};

std::vector<Wrapper> const& wrappers() {
  using namespace std::chrono_literals;
  static std::vector<Wrapper> const all = {
      {"none", [](MemoryResource inner) { return inner; }},
      {"delaying", [](MemoryResource inner) { return MemoryResource(DelayingAdaptor(std::move(inner), 0ms)); }},
      {"failing", [](MemoryResource inner) { return MemoryResource(FailingAdaptor(std::move(inner))); }},
      {"limiting", [](MemoryResource inner) { return MemoryResource(LimitingAdaptor(std::move(inner), 1 << 30)); }},
      {"pooling", [](MemoryResource inner) { return MemoryResource(PoolingAdaptor(std::move(inner))); }, true},
      {"statistics", [](MemoryResource inner) { return MemoryResource(StatisticsAdaptor(std::move(inner))); }},
      {"two of them",
       [](MemoryResource inner) {
         return MemoryResource(StatisticsAdaptor(MemoryResource(LimitingAdaptor(std::move(inner), 1 << 30))));
       }},
  };
  return all;
}

struct Use {
  char const* name;
  std::function<void(MemoryResource)> use;
};

std::vector<Use> const& uses() {
  using detail::Block;
  static auto const make = [](std::array<std::int64_t, 1> shape, bool uninitialized) {
    return [=](MemoryResource resource) {
      MemArray<float, 1> a(shape, 0, {.uninitialized = uninitialized, .resource = std::move(resource)});
      a.fill(2);
      if (a.get_size() > 0) {
        EXPECT_EQ(a({63}), 2);
      }
      EXPECT_NE(a.get_dlpack_device().first, kDLCUDA);
      a.move_memory(kDLCUDA, 0, 0);
      a.move_memory(kDLCPU, 0, 0);
      a.resize({100});
      EXPECT_EQ(a({99}), 0);
    };
  };
  static auto const block = [](Block::Contents contents) {
    return [=](MemoryResource resource) { *Block::allocate(resource, 64, contents)->data() = std::byte{1}; };
  };
  static std::vector<Use> const all = {
      {"ArrayOptions", make({64}, false)},
      {"ArrayOptions, uninitialized", make({64}, true)},
      {"ArrayOptions, no elements", make({0}, false)},
      {"a block", block(Block::Contents::uninitialized)},
      {"a zeroed block", block(Block::Contents::zero)},
      {"a Thrust vector",
       [](MemoryResource resource) {
         using Allocator = detail::HostBytes::allocator_type;
         auto bytes = detail::make_bytes<detail::HostBytes>(Allocator(std::move(resource), default_stream()), 64);
         bytes[63] = std::byte{1};
       }},
      {"a copy of an array",
       [](MemoryResource resource) {
         MemArray<float, 1> const a({64}, 0, {.resource = std::move(resource)});
         MemArray<float, 1> twin = a;
         twin.fill(1);
       }},
      {"exchanged arrays",
       [](MemoryResource resource) {
         MemArray<float, 1> a({64}, 0, {.resource = std::move(resource)});
         MemArray<float, 1> b({8});
         a.exchange(b);
         b.resize({99});
         EXPECT_EQ(b({98}), 0);
       }},
  };
  return all;
}

class ResourceRefusalsTest : public test::DeviceArrayTest {};

// The driver pools device memory itself, so a `PoolingAdaptor` around it is refused.
bool is_refused_by(Wrapper const& wrapper, Source const& source) {
  if (is_host_accessible(source.type) || !wrapper.pools) return false;
  EXPECT_THROW(static_cast<void>(wrapper.wrap(source.make())), ValueError) << source.name << " in " << wrapper.name;
  return true;
}

TEST_F(ResourceRefusalsTest, AdaptorsReportMemoryTypeOfWrappedResource) {
  for (Source const& source : sources())
    for (Wrapper const& wrapper : wrappers()) {
      if (is_refused_by(wrapper, source)) continue;
      EXPECT_EQ(wrapper.wrap(source.make()).memory_type(), source.type) << source.name << " in " << wrapper.name;
    }
}

TEST_F(ResourceRefusalsTest, DeviceMemoryIsRefusedWhereTheHostUsesIt) {
  for (Source const& source : sources()) {
    for (Wrapper const& wrapper : wrappers()) {
      if (is_refused_by(wrapper, source)) continue;
      for (Use const& use : uses()) {
        SCOPED_TRACE(std::string(source.name) + " in " + wrapper.name + ": " + use.name);
        MemoryResource const resource = wrapper.wrap(source.make());
        if (is_host_accessible(source.type)) {
          use.use(resource);
          continue;
        }
        EXPECT_THAT(test::message_of<ValueError>([&] { use.use(resource); }), HasSubstr("device memory"));
      }
    }
  }
}

TEST_F(ResourceRefusalsTest, DeviceVectorsAcceptDeviceMemory) {
  StreamHandle const stream = create_stream_handle(get_primary_context(0));
  MemoryResource const resource(DriverResource::from_pool(get_device_memory_pool(0)));
  detail::DeviceBytes const bytes =
      detail::make_bytes<detail::DeviceBytes>(detail::DeviceBytes::allocator_type(resource, &stream), 64);
  EXPECT_EQ(bytes.size(), 64U);
}

TEST_F(ResourceRefusalsTest, AdaptorsRefuseEmptyHandles) {
  for (Wrapper const& wrapper : wrappers()) {
    if (std::string_view(wrapper.name) == "none") continue;
    SCOPED_TRACE(wrapper.name);
    EXPECT_THAT(test::message_of<ValueError>([&] { static_cast<void>(wrapper.wrap(MemoryResource())); }),
                HasSubstr("is empty"));
  }
}

}  // namespace
}  // namespace memarray
