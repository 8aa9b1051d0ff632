#include <memarray/base/hooks.hpp>
#include <memarray/memory/delaying_adaptor.hpp>

#include <thread>

namespace memarray {
namespace {

void sleep(std::chrono::nanoseconds each) noexcept {
  RuntimeRelease const released;
  std::this_thread::sleep_for(each);
}

}  // namespace

void* DelayingAdaptor::allocate(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  sleep(_each);
  return _upstream.allocate(stream, bytes, alignment);
}

void DelayingAdaptor::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                 std::size_t alignment) noexcept {
  sleep(_each);
  _upstream.deallocate(stream, pointer, bytes, alignment);
}

}  // namespace memarray
