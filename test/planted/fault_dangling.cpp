// sanitizer: asan
// expect: heap-use-after-free
#include <memarray/memory/pageable_resource.hpp>

extern "C" __attribute__((visibility("default"))) void fault() {
  memarray::PageableResource resource;
  auto* const bytes = static_cast<char volatile*>(resource.allocate(memarray::default_stream(), 4096));
  bytes[0] = 1;
  resource.deallocate(memarray::default_stream(), const_cast<char*>(bytes), 4096);
  bytes[0] = 2;
}
