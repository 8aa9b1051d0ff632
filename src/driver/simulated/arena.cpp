#include "arena.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

namespace memarray::simulated {
namespace {

[[noreturn]] void fail(char const* what) {
  throw std::system_error(errno, std::system_category(), std::string("simulated devices: ") + what);
}

struct File {
  explicit File(std::size_t bytes) : descriptor(memfd_create("memarray-simulated-device", MFD_CLOEXEC)) {
    if (descriptor < 0) fail("memfd_create");
    if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
      close(descriptor);
      fail("ftruncate");
    }
  }
  ~File() { close(descriptor); }
  File(File const&) = delete;
  File& operator=(File const&) = delete;

  int const descriptor;
};

}  // namespace

Arena::Arena(int device, std::size_t bytes, std::uint32_t session, bool go_on, TouchLog& log)
    : table(bytes / granularity), _bytes(bytes / granularity * granularity) {
  File const file(_bytes);
  void* const seen = mmap(nullptr, _bytes, PROT_NONE, MAP_SHARED, file.descriptor, 0);
  if (seen == MAP_FAILED) fail("mmap");
  void* const reached = mmap(nullptr, _bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
  if (reached == MAP_FAILED) {
    munmap(seen, _bytes);
    fail("mmap");
  }
  _begin = reinterpret_cast<std::uintptr_t>(seen);
  _reach = static_cast<std::byte*>(reached);
  try {
    _guard = guard({_begin, _begin + _bytes, _reach, device, session, go_on, &table, &log});
    free.give(_begin, _bytes, nullptr);
  } catch (...) {
    munmap(seen, _bytes);
    munmap(reached, _bytes);
    throw;
  }
}

Arena::~Arena() {
  unguard(_guard);
  munmap(reinterpret_cast<void*>(_begin), _bytes);
  munmap(_reach, _bytes);
}

}  // namespace memarray::simulated
