// sanitizer: asan
// expect: LeakSanitizer: detected memory leaks
#include <memarray/memory/pageable_resource.hpp>

#include <cstdint>

extern "C" __attribute__((visibility("default"))) void fault() {
  memarray::PageableResource resource;
  void* volatile forgotten = resource.allocate(memarray::default_stream(), 4096);
  forgotten = nullptr;
  static_cast<void>(forgotten);
}
