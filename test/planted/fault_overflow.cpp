// sanitizer: asan
// expect: signed integer overflow
#include <limits>

extern "C" __attribute__((visibility("default"))) void fault() {
  int volatile largest = std::numeric_limits<int>::max();
  largest = largest + 1;
}
