#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "simulated_driver.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __lsan_disable();
#endif

namespace memarray {
namespace {

using testing::SimulatedDevices;

struct ExitResult {
  int status;
  std::string words;
};

// Runs `body` in a child process. Returns the exit status and the child's output.
ExitResult run_in_child(void (*body)()) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t const child = fork();
  if (child == 0) {
    alarm(60);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(0);
  }
  close(ends[1]);
  ExitResult ending{-1, {}};
  char part[4096];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
    ending.words.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  EXPECT_EQ(waitpid(child, &ending.status, 0), child);
  return ending;
}

struct Memory {
  explicit Memory(SimulatedDevices& sim) : cuda(*sim.table()) {
    cuda.cuCtxCreate(&context, 0, 1);
    testing::detail::set_allocation_site("model.py:42");
    cuda.cuMemAlloc(&pointer, 1000);
  }
  [[nodiscard]] char volatile* get() const { return reinterpret_cast<char*>(static_cast<std::uintptr_t>(pointer)); }

  DriverTable const& cuda;
  cu::Context context = nullptr;
  cu::DevicePtr pointer = 0;
};

bool says(ExitResult const& ending, char const* part) { return ending.words.find(part) != std::string::npos; }

// Sanitizers end a faulting process with their own report and exit status.
void expect_fault(ExitResult const& ending) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(WIFSIGNALED(ending.status) || WEXITSTATUS(ending.status) != 0) << ending.words;
#else
  EXPECT_TRUE(WIFSIGNALED(ending.status) && WTERMSIG(ending.status) == SIGSEGV) << ending.words;
#endif
}

TEST(SimulatedGuard, HostAccessToDeviceMemoryIsReportedAndEndsTheProcess) {
  auto const ending = run_in_child([] {
    SimulatedDevices sim;
    Memory const memory(sim);
    memory.get()[24] = 1;
    _exit(3);
  });
  expect_fault(ending);
  EXPECT_TRUE(says(ending, "memarray: host touch of simulated device memory: ")) << ending.words;
  EXPECT_TRUE(says(ending, "on device 1, 24 bytes into 1000 allocated at model.py:42")) << ending.words;
#if defined(__x86_64__)
  EXPECT_TRUE(says(ending, "write to 0x")) << ending.words;
#endif
}

TEST(SimulatedGuard, AReadOfFreedMemoryIsReported) {
  auto const ending = run_in_child([] {
    SimulatedDevices sim;
    Memory const memory(sim);
    memory.cuda.cuMemFree(memory.pointer);
    static_cast<void>(memory.get()[0]);
    _exit(3);
  });
  expect_fault(ending);
  EXPECT_TRUE(says(ending, "in no allocation")) << ending.words;
#if defined(__x86_64__)
  EXPECT_TRUE(says(ending, "read of 0x")) << ending.words;
#endif
}

TEST(SimulatedGuard, AccessInAHostFunctionIsReported) {
  auto const ending = run_in_child([] {
    SimulatedDevices sim;
    Memory const memory(sim);
    memory.cuda.cuLaunchHostFunc(
        nullptr, [](void* pointer) { *static_cast<char volatile*>(pointer) = 1; }, const_cast<char*>(memory.get()));
    memory.cuda.cuCtxSynchronize();
    _exit(3);
  });
  expect_fault(ending);
  EXPECT_TRUE(says(ending, "host touch")) << ending.words;
}

TEST(SimulatedGuard, ProgramContinuesWithContinueAfterTouch) {
  auto const ending = run_in_child([] {
#if defined(__SANITIZE_ADDRESS__)
    __lsan_disable();
#endif
    SimulatedDevices sim({.continue_after_touch = true});
    Memory const memory(sim);
    memory.get()[24] = 7;
    char seen = 0;
    memory.cuda.cuMemcpyDtoHAsync(&seen, memory.pointer + 24, 1, nullptr);
    memory.get()[25] = 7;
    auto const violations = sim.violations();
    bool const is_seen = violations.size() == 1 && violations[0].find("model.py:42") != std::string::npos;
    _exit(seen == 7 && is_seen ? 0 : 3);
  });
  EXPECT_EQ(ending.status, 0) << ending.words;
  EXPECT_TRUE(says(ending, "24 bytes into 1000")) << ending.words;
}

TEST(SimulatedGuard, OtherFaultsGoToThePreviousHandler) {
  auto const ending = run_in_child([] {
    SimulatedDevices sim;
    raise(SIGSEGV);
    _exit(3);
  });
  expect_fault(ending);
  EXPECT_FALSE(says(ending, "host touch")) << ending.words;
}

// Earlier tests may have installed our handler already. A child therefore installs a later handler that calls the one
// it replaced.
TEST(SimulatedGuard, LaterHandlersMayCallTheGuard) {
  auto const ending = run_in_child([] {
    static struct sigaction ours;
    SimulatedDevices sim({.continue_after_touch = true});
    Memory const memory(sim);
    struct sigaction later{};
    later.sa_flags = SA_SIGINFO;
    later.sa_sigaction = [](int signal, siginfo_t* info, void* context) { ours.sa_sigaction(signal, info, context); };
    sigaction(SIGSEGV, &later, &ours);
    memory.get()[0] = 1;
    _exit(sim.violations().size() == 1 ? 0 : 3);
  });
  EXPECT_EQ(ending.status, 0) << ending.words;
}

TEST(SimulatedGuard, TouchesAndOtherViolationsKeepTheirOrder) {
  auto const ending = run_in_child([] {
    SimulatedDevices sim({.continue_after_touch = true});
    Memory const memory(sim);
    memory.cuda.cuMemFree(1);
    memory.get()[0] = 1;
    memory.cuda.cuMemFree(2);
    auto const all = sim.violations();
    _exit(all.size() == 3 && all[1].find("host touch") == 0 ? 0 : 3);
  });
  EXPECT_EQ(ending.status, 0) << ending.words;
}

}  // namespace
}  // namespace memarray
