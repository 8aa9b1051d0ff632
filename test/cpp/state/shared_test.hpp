#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <memarray/array/shared_memory.hpp>
#include <memarray/detail/state/segment_layout.hpp>

#include "array/array_test.hpp"

namespace memarray::test {

/// An unnamed file that can be mapped repeatedly, at a different address each time.
class SharedFile {
 public:
  explicit SharedFile(std::size_t bytes) : _file(::memfd_create("memarray-test", MFD_CLOEXEC)), _bytes(bytes) {
    EXPECT_GE(_file, 0);
    EXPECT_EQ(::ftruncate(_file, static_cast<off_t>(bytes)), 0);
  }
  SharedFile(SharedFile const&) = delete;
  SharedFile& operator=(SharedFile const&) = delete;
  ~SharedFile() { ::close(_file); }

  void truncate(std::size_t bytes) const { EXPECT_EQ(::ftruncate(_file, static_cast<off_t>(bytes)), 0); }

  [[nodiscard]] SharedMemory map() const {
    void* const at = ::mmap(nullptr, _bytes, PROT_READ | PROT_WRITE, MAP_SHARED, _file, 0);
    EXPECT_NE(at, MAP_FAILED);
    std::size_t const bytes = _bytes;
    std::shared_ptr<void const> kept(at, [bytes](void* mapped) { ::munmap(mapped, bytes); });
    return {.bytes = {static_cast<std::byte*>(at), bytes}, .keep_alive = std::move(kept), .is_zero = true};
  }

 private:
  int _file;
  std::size_t _bytes;
};

/// A child process that runs one function, then waits until it is killed.
class Child {
 public:
  /// `run` returns null on failure; its result lives until the child ends.
  explicit Child(std::function<std::shared_ptr<void>()> const& run) {
    EXPECT_EQ(::pipe(_ends), 0);
    _pid = ::fork();
    if (_pid != 0) {
      char ready = 0;
      EXPECT_EQ(::read(_ends[0], &ready, 1), 1);
      EXPECT_EQ(ready, 1) << "the child failed";
      return;
    }
    ::alarm(60);
    std::shared_ptr<void> kept;
    char ready = 0;
    try {
      kept = run();
      ready = kept ? 1 : 0;
    } catch (std::exception const& error) {
      ::write(STDERR_FILENO, error.what(), __builtin_strlen(error.what()));
    }
    if (::write(_ends[1], &ready, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  Child(Child const&) = delete;
  Child& operator=(Child const&) = delete;
  ~Child() { kill(); }

  [[nodiscard]] pid_t pid() const noexcept { return _pid; }
  void kill() {
    if (_pid == 0) return;
    ::kill(_pid, SIGKILL);
    EXPECT_EQ(::waitpid(_pid, nullptr, 0), _pid);
    _pid = 0;
    ::close(_ends[0]);
    ::close(_ends[1]);
  }

 private:
  int _ends[2]{};
  pid_t _pid = 0;
};

/// Returns an object that keeps its arguments alive until the child ends.
template <class T, class... Rest>
std::shared_ptr<void> keep(T&& first, Rest&&... rest) {
  return std::make_shared<std::tuple<std::decay_t<T>, std::decay_t<Rest>...>>(std::forward<T>(first),
                                                                              std::forward<Rest>(rest)...);
}

using SharedArray = MemArray<std::int64_t, 2>;

/// A fixture with an array in shared memory, to which more arrays can be attached.
class SharedMemoryTest : public ArrayTest {
 protected:
  SharedMemoryTest()
      : file(shared_bytes<std::int64_t, 2>({4, 3})), a(create_shared<std::int64_t, 2>(file.map(), {4, 3})) {}
  [[nodiscard]] SharedArray attach() const { return attach_shared<std::int64_t, 2>(file.map()); }
  /// Returns the message of the `LockError`.
  template <class Run>
  static std::string refusal(Run const& run) {
    return message_of<LockError>(run);
  }
  [[nodiscard]] static std::string pid(pid_t of) { return "process " + std::to_string(of); }

  SharedFile file;
  SharedArray a;
};

}  // namespace memarray::test
