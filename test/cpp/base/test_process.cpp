#include <memarray/base/process.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace memarray::detail {
namespace {

constexpr std::uint64_t start_of(ProcessStamp stamp) { return stamp & ((std::uint64_t{1} << start_bits) - 1); }

TEST(Process, CurrentProcessIsAlive) {
  ProcessStamp const me = this_process();
  EXPECT_EQ(pid_of(me), ::getpid());
  EXPECT_NE(start_of(me), 0U);
  EXPECT_TRUE(is_alive(me));
  EXPECT_EQ(this_process(), me);
}

TEST(Process, SamePidWithDifferentStartTimeIsNotAlive) {
  ProcessStamp const me = this_process();
  EXPECT_FALSE(is_alive(stamp_of(pid_of(me), start_of(me) - 1)));
  EXPECT_FALSE(is_alive(stamp_of(pid_of(me), start_of(me) + 1)));
  // Without a known start time, only the pid is compared.
  EXPECT_TRUE(is_alive(stamp_of(pid_of(me), 0)));
}

TEST(Process, ImpossibleStampsAreNotAlive) {
  EXPECT_FALSE(is_alive(0));
  // Exceeds the largest possible pid.
  EXPECT_FALSE(is_alive(stamp_of((1 << 22) - 1, 1)));
}

TEST(Process, ChildIsAliveUntilItExitsAndNotAsZombie) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ProcessStamp const mine = this_process();
    bool const sent = ::write(ends[1], &mine, sizeof mine) == sizeof mine;
    ::pause();
    ::_exit(sent ? 0 : 1);
  }
  ProcessStamp of_child = 0;
  ASSERT_EQ(::read(ends[0], &of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  EXPECT_EQ(pid_of(of_child), child);
  EXPECT_TRUE(is_alive(of_child));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(of_child)) << "it lies there still, but it has ended";
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_alive(of_child));
  ::close(ends[0]);
  ::close(ends[1]);
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  std::size_t const name_ends = text.rfind(") ");
  return name_ends == std::string::npos ? '?' : text[name_ends + 2];
}

// Its status looks like that of a zombie.
TEST(Process, ProcessWhoseMainThreadExitedIsAlive) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(60);
    std::thread([] { ::pause(); }).detach();
    ::syscall(SYS_exit, 0);
  }
  while (state_of(child) != 'Z') std::this_thread::yield();
  EXPECT_TRUE(is_alive(stamp_of(child, 0)));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_alive(stamp_of(child, 0)));
}

TEST(Process, ProcessNamespaceIsKnownAndStable) {
  EXPECT_NE(process_namespace(), 0U);
  EXPECT_EQ(process_namespace(), process_namespace());
}

}  // namespace
}  // namespace memarray::detail
