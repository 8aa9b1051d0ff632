#pragma once

#include <sched.h>

#include <algorithm>
#include <cstddef>

namespace memarray::test {

/// Pins this thread, and threads that it starts, to one processor. Threads then run exactly while another is
/// interrupted, possibly between any two instructions.
class OneProcessor {
 public:
  OneProcessor() {
    ::sched_getaffinity(0, sizeof(_before), &_before);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(std::max(0, ::sched_getcpu())), &here);
    ::sched_setaffinity(0, sizeof(here), &here);
  }
  ~OneProcessor() { ::sched_setaffinity(0, sizeof(_before), &_before); }
  OneProcessor(OneProcessor const&) = delete;
  OneProcessor& operator=(OneProcessor const&) = delete;

 private:
  cpu_set_t _before;
};

}  // namespace memarray::test
