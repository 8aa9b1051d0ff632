#include <memarray/base/process.hpp>
#include <memarray/detail/base/fork.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace memarray::detail {
namespace {

struct Status {
  bool known = false;
  char state = '?';
  std::uint64_t threads = 0;
  std::uint64_t started = 0;
};

/// Neither allocates nor locks: it also runs in a forked child.
Status status_of(int pid) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[1024];
  ssize_t const length = ::read(file, text, sizeof text);
  ::close(file);
  if (length <= 0) return {};
  std::string_view rest(text, static_cast<std::size_t>(length));
  // The name, field 2, may contain spaces and parentheses.
  std::size_t const end_of_name = rest.rfind(") ");
  if (end_of_name == std::string_view::npos) return {};
  rest.remove_prefix(end_of_name + 2);
  constexpr int state_field = 3;
  constexpr int threads_field = 20;
  constexpr int start_field = 22;
  Status status;
  for (int field = state_field; !rest.empty(); ++field) {
    std::string_view const word = rest.substr(0, rest.find(' '));
    if (field == state_field && !word.empty()) status.state = word[0];
    std::uint64_t* const number = field == threads_field ? &status.threads
                                  : field == start_field ? &status.started
                                                         : nullptr;
    if (number) std::from_chars(word.data(), word.data() + word.size(), *number);
    if (field == start_field) {
      status.known = true;
      break;
    }
    if (word.size() == rest.size()) break;
    rest.remove_prefix(word.size() + 1);
  }
  return status;
}

std::uint64_t inode_of(char const* path) noexcept {
  struct stat found{};
  return ::stat(path, &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
}

}  // namespace

ProcessStamp this_process() noexcept {
  static std::atomic<ProcessStamp> known{0};
  static std::atomic<std::uint32_t> known_generation{0};
  ProcessStamp stamp = known.load(std::memory_order_relaxed);
  int const pid = ::getpid();
  // A descendant may have the pid of an ancestor that has ended.
  std::uint32_t const generation = fork_generation();
  if (stamp != 0 && pid_of(stamp) == pid && known_generation.load(std::memory_order_relaxed) == generation)
    return stamp;
  stamp = stamp_of(pid, status_of(pid).started);
  known.store(stamp, std::memory_order_relaxed);
  known_generation.store(generation, std::memory_order_relaxed);
  return stamp;
}

bool is_alive(ProcessStamp stamp) noexcept {
  int const pid = pid_of(stamp);
  if (pid <= 0) return false;
  if (stamp == this_process()) return true;
  if (::kill(pid, 0) != 0 && errno == ESRCH) return false;
  Status const status = status_of(pid);
  if (!status.known) return true;
  // A running process whose main thread has ended is a zombie with several threads.
  if ((status.state == 'Z' || status.state == 'X') && status.threads <= 1) return false;
  ProcessStamp const now = stamp_of(pid, status.started);
  return now == stamp || stamp == stamp_of(pid, 0);
}

std::uint64_t process_namespace() noexcept {
  // Inode numbers of namespaces fit into 32 bits.
  return inode_of("/proc/self/ns/pid") << 32 ^ inode_of("/proc/self/ns/time");
}

}  // namespace memarray::detail
