#pragma once

#if defined(__SANITIZE_THREAD__)
#define MEMARRAY_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEMARRAY_THREAD_SANITIZER 1
#endif
#endif

#if defined(MEMARRAY_THREAD_SANITIZER)
extern "C" {
void AnnotateIgnoreReadsBegin(char const* file, int line);
void AnnotateIgnoreReadsEnd(char const* file, int line);
void AnnotateIgnoreWritesBegin(char const* file, int line);
void AnnotateIgnoreWritesEnd(char const* file, int line);
void AnnotateIgnoreSyncBegin(char const* file, int line);
void AnnotateIgnoreSyncEnd(char const* file, int line);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

/// The thread sanitizer's view of a simulated driver.
///
/// The emulation's locks and queues, which a real device lacks, would hide a program's races. It therefore runs hidden
/// and declares as edges what a device orders: work after its submission, a waiter after the awaited work.
namespace memarray::simulated {

#if defined(MEMARRAY_THREAD_SANITIZER)
inline constexpr bool is_watched = true;

inline void hide() noexcept {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}
inline void show() noexcept {
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
inline constexpr bool is_watched = false;
inline void hide() noexcept {}
inline void show() noexcept {}
#endif

/// A scope in which the sanitizer ignores the calling thread. Scopes nest.
class Hidden {
 public:
  Hidden() noexcept { hide(); }
  ~Hidden() { show(); }
  Hidden(Hidden const&) = delete;
  Hidden& operator=(Hidden const&) = delete;
};

/// A scope within one `Hidden` in which the sanitizer sees the program's accesses.
class Visible {
 public:
  Visible() noexcept { show(); }
  ~Visible() { hide(); }
  Visible(Visible const&) = delete;
  Visible& operator=(Visible const&) = delete;
};

/// An order that a device keeps, declared to the sanitizer: `arrive` comes after each earlier `leave`. Used within one
/// `Hidden`.
class Edge {
 public:
  void leave() noexcept {
#if defined(MEMARRAY_THREAD_SANITIZER)
    Visible const visible;
    __tsan_release(this);
#endif
  }
  void arrive() noexcept {
#if defined(MEMARRAY_THREAD_SANITIZER)
    Visible const visible;
    __tsan_acquire(this);
#endif
  }
};

}  // namespace memarray::simulated
