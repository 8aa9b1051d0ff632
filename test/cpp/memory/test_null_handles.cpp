// Calls every function of this layer that takes a handle with null. test/architecture/test_null_handles.py compares
// the signatures here with those of the headers.
#include <memarray/base/errors.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/memory/delaying_adaptor.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/failing_adaptor.hpp>
#include <memarray/memory/limiting_adaptor.hpp>
#include <memarray/memory/pageable_resource.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/statistics_adaptor.hpp>

#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "device_test.hpp"

namespace memarray::test {
namespace {

enum class NullCall { is_refused, throws_last_error, succeeds };

struct FunctionOfMemory {
  char const* signature;
  NullCall expected;
  std::function<void(bool is_null)> call;  ///< with one null handle, or with good handles
};

constexpr std::size_t some_bytes = 100;

StreamHandle stream_or_null(bool is_null) { return is_null ? StreamHandle() : default_stream(); }
ContextHandle context_or_null(bool is_null) { return is_null ? ContextHandle() : get_primary_context(0); }
MemoryPoolHandle pool_or_null(bool is_null) { return is_null ? MemoryPoolHandle() : get_device_memory_pool(0); }

std::vector<DriverResource> driver_resources() {
  ContextHandle const context = get_primary_context(0);
  return {DriverResource::from_pool(get_device_memory_pool(0)), DriverResource::device(context),
          DriverResource::managed(context), DriverResource::pinned(context)};
}

std::vector<PageableResource> pageable() { return {{}}; }
std::vector<PoolingAdaptor> pooling() { return {PoolingAdaptor(DriverResource::pinned(get_primary_context(0)), 0)}; }

template <class Adaptor, auto... arguments>
std::vector<Adaptor> adaptors() {
  std::vector<Adaptor> all;
  for (DriverResource const& upstream : driver_resources()) all.emplace_back(upstream, arguments...);
  return all;
}

std::vector<DelayingAdaptor> delaying() {
  std::vector<DelayingAdaptor> all;
  for (DriverResource const& upstream : driver_resources()) all.emplace_back(upstream, std::chrono::nanoseconds(1));
  return all;
}

constexpr auto failing = adaptors<FailingAdaptor>;
constexpr auto limiting = adaptors<LimitingAdaptor, std::size_t{1000}>;
constexpr auto counting = adaptors<StatisticsAdaptor>;

// Calls `use` for every resource. All must refuse a null handle, or none.
template <class Resource, class Use>
void for_all(std::vector<Resource> resources, Use const& use) {
  std::size_t refused = 0;
  std::string words;
  for (Resource& resource : resources) try {
      use(resource);
    } catch (ValueError const& error) {
      ++refused;
      words = error.what();
    }
  EXPECT_TRUE(refused == 0 || refused == resources.size()) << words;
  if (refused != 0) throw ValueError(words);
}

template <class Make>
auto allocates(Make make) {
  return [make](bool is_null) {
    for_all(make(), [&](auto& resource) {
      void* const pointer = resource.allocate(stream_or_null(is_null), some_bytes);
      resource.deallocate(default_stream(), pointer, some_bytes);
    });
  };
}

template <class Make>
auto allocates_zeroed(Make make) {
  return [make](bool is_null) {
    for_all(make(), [&](auto& resource) {
      void* const pointer = resource.allocate_zeroed(stream_or_null(is_null), some_bytes);
      resource.deallocate(default_stream(), pointer, some_bytes);
    });
  };
}

template <class Make>
auto deallocates(Make make) {
  return [make](bool is_null) {
    for_all(make(), [&](auto& resource) {
      void* const pointer = resource.allocate(default_stream(), some_bytes);
      resource.deallocate(stream_or_null(is_null), pointer, some_bytes);
    });
  };
}

template <class Make>
auto zeroes(Make make) {
  return [make](bool is_null) {
    for_all(make(), [&](auto& resource) {
      void* const pointer = resource.allocate(default_stream(), some_bytes);
      try {
        resource.zero(stream_or_null(is_null), pointer, some_bytes);
      } catch (...) {
        resource.deallocate(default_stream(), pointer, some_bytes);
        throw;
      }
      resource.deallocate(default_stream(), pointer, some_bytes);
    });
  };
}

std::vector<FunctionOfMemory> const& functions_of_memory() {
  constexpr auto refused = NullCall::is_refused;
  constexpr auto throws = NullCall::throws_last_error;
  constexpr auto succeeds = NullCall::succeeds;
  static std::vector<FunctionOfMemory> const all = {
      {"DriverResource::allocate(StreamHandle)", refused, allocates(driver_resources)},
      {"DriverResource::allocate_zeroed(StreamHandle)", refused, allocates_zeroed(driver_resources)},
      {"DriverResource::deallocate(StreamHandle)", succeeds, deallocates(driver_resources)},
      {"DriverResource::zero(StreamHandle)", refused, zeroes(driver_resources)},
      {"DriverResource::from_pool(MemoryPoolHandle)", throws,
       [](bool is_null) { static_cast<void>(DriverResource::from_pool(pool_or_null(is_null))); }},
      {"DriverResource::device(ContextHandle)", throws,
       [](bool is_null) { static_cast<void>(DriverResource::device(context_or_null(is_null))); }},
      {"DriverResource::managed(ContextHandle)", throws,
       [](bool is_null) { static_cast<void>(DriverResource::managed(context_or_null(is_null))); }},
      {"DriverResource::pinned(ContextHandle)", throws,
       [](bool is_null) { static_cast<void>(DriverResource::pinned(context_or_null(is_null))); }},
      {"PageableResource::allocate(StreamHandle)", succeeds, allocates(pageable)},
      {"PageableResource::allocate_zeroed(StreamHandle)", succeeds, allocates_zeroed(pageable)},
      {"PageableResource::deallocate(StreamHandle)", succeeds, deallocates(pageable)},
      {"PageableResource::zero(StreamHandle)", succeeds, zeroes(pageable)},
      {"DelayingAdaptor::allocate(StreamHandle)", refused, allocates(delaying)},
      {"DelayingAdaptor::deallocate(StreamHandle)", succeeds, deallocates(delaying)},
      {"FailingAdaptor::allocate(StreamHandle)", refused, allocates(failing)},
      {"FailingAdaptor::deallocate(StreamHandle)", succeeds, deallocates(failing)},
      {"LimitingAdaptor::allocate(StreamHandle)", refused, allocates(limiting)},
      {"LimitingAdaptor::allocate_zeroed(StreamHandle)", refused, allocates_zeroed(limiting)},
      {"LimitingAdaptor::deallocate(StreamHandle)", succeeds, deallocates(limiting)},
      {"LimitingAdaptor::zero(StreamHandle)", refused, zeroes(limiting)},
      {"PoolingAdaptor::allocate(StreamHandle)", refused, allocates(pooling)},
      {"PoolingAdaptor::allocate_zeroed(StreamHandle)", refused, allocates_zeroed(pooling)},
      {"PoolingAdaptor::deallocate(StreamHandle)", succeeds, deallocates(pooling)},
      {"PoolingAdaptor::zero(StreamHandle)", refused, zeroes(pooling)},
      {"StatisticsAdaptor::allocate(StreamHandle)", refused, allocates(counting)},
      {"StatisticsAdaptor::allocate_zeroed(StreamHandle)", refused, allocates_zeroed(counting)},
      {"StatisticsAdaptor::deallocate(StreamHandle)", succeeds, deallocates(counting)},
      {"StatisticsAdaptor::zero(StreamHandle)", refused, zeroes(counting)},
      {"transfer_streams(StreamHandle)", refused,
       [](bool is_null) {
         detail::DeviceMemoryPtr const memory = detail::DeviceMemory::of(0);
         detail::BlockPtr const block =
             detail::Block::allocate(memory, detail::bind_stream(default_stream(), memory->context()), some_bytes);
         static_cast<void>(detail::transfer_streams(stream_or_null(is_null), *block, *memory));
       }},
  };
  return all;
}

/// Calls with a null handle. Returns the thrown error's words, or "".
std::string words_for_null(FunctionOfMemory const& function) {
  try {
    function.call(true);
    return "";
  } catch (std::exception const& error) {
    return error.what();
  }
}

class NullHandlesOfMemoryTest : public DeviceTest {};

TEST_F(NullHandlesOfMemoryTest, GoodHandlesSucceed) {
  for (FunctionOfMemory const& function : functions_of_memory()) {
    clear_last_error();
    EXPECT_NO_THROW(function.call(false)) << function.signature;
    EXPECT_EQ(get_last_error(), 0) << function.signature;
  }
}

TEST_F(NullHandlesOfMemoryTest, NullIsRefusedWithValueErrorOrStandsForTheLegacyStream) {
  for (FunctionOfMemory const& function : functions_of_memory()) {
    auto const before = sim.live();
    clear_last_error();
    if (function.expected == NullCall::succeeds)
      EXPECT_NO_THROW(function.call(true)) << function.signature;
    else
      EXPECT_THROW(function.call(true), ValueError) << function.signature;
    EXPECT_EQ(get_last_error(), 0) << function.signature;
    if (function.expected == NullCall::is_refused) {
      EXPECT_NE(words_for_null(function).find("this stream handle is null"), std::string::npos) << function.signature;
    }
    EXPECT_EQ(sim.live(), before) << function.signature << " left memory";
  }
}

TEST_F(NullHandlesOfMemoryTest, EarlierErrorIsKeptOrThrown) {
  constexpr cu::Result earlier = 777;
  for (FunctionOfMemory const& function : functions_of_memory()) {
    clear_last_error();
    detail::fail_for_null(earlier);
    bool const throws_it = function.expected == NullCall::throws_last_error;
    EXPECT_EQ(words_for_null(function).find("777") != std::string::npos, throws_it)
        << function.signature << ": " << words_for_null(function);
    EXPECT_EQ(get_last_error(), throws_it ? 0 : earlier) << function.signature;
  }
}

}  // namespace
}  // namespace memarray::test
