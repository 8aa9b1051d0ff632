// Measures leases per second: threads read (95 %) and write (5 %) one small array, each under a blocking lock.
// `lease_throughput THREADS SAMPLES MILLISECONDS` prints, for each lock, the seconds per grant in each sample; the
// locks take turns within a round. One thread is timed by the process clock, which stops while another process has the
// core. Several threads are timed by the wall clock, because a blocked thread uses no processor time.
#include <memarray/memarray.hpp>

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

double now(bool of_process) {
  timespec time{};
  clock_gettime(of_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

constexpr int payload_size = 8;
constexpr unsigned percent_of_writes = 5;

// Reads the payload under a lock. Ends the program at a torn write, which the payload is large enough to reveal.
std::int64_t read_payload(std::int64_t const* payload) {
  for (int i = 1; i < payload_size; ++i) {
    if (payload[i] != payload[0]) std::abort();
  }
  return payload[0];
}

void write_payload(std::int64_t* payload) {
  for (int i = 0; i < payload_size; ++i) ++payload[i];
}

struct MemarrayLeases {
  static constexpr char const* name = "memarray leases";
  memarray::MemArray<std::int64_t, 1> array{{payload_size}};

  std::int64_t read() {
    memarray::ReadLease lease(array, {.timeout = std::nullopt});
    return read_payload(lease.ptr());
  }
  void write() {
    memarray::WriteLease lease(array, {.timeout = std::nullopt});
    write_payload(lease.ptr());
  }
};

template <class Mutex>
struct SharedMutex {
  Mutex mutex;
  std::int64_t payload[payload_size]{};

  std::int64_t read() {
    std::shared_lock lock(mutex);
    return read_payload(payload);
  }
  void write() {
    std::unique_lock lock(mutex);
    write_payload(payload);
  }
};

struct StdSharedMutex : SharedMutex<std::shared_mutex> {
  static constexpr char const* name = "std::shared_mutex";
};

struct StdSharedTimedMutex : SharedMutex<std::shared_timed_mutex> {
  static constexpr char const* name = "std::shared_timed_mutex, try_lock_for";

  std::int64_t read() {
    std::shared_lock lock(mutex, std::chrono::hours(1));
    return read_payload(payload);
  }
  void write() {
    std::unique_lock lock(mutex, std::chrono::hours(1));
    write_payload(payload);
  }
};

struct StdMutex {
  static constexpr char const* name = "std::mutex";
  std::mutex mutex;
  std::int64_t payload[payload_size]{};

  std::int64_t read() {
    std::lock_guard lock(mutex);
    return read_payload(payload);
  }
  void write() {
    std::lock_guard lock(mutex);
    write_payload(payload);
  }
};

// A lock that holds back new readers, as leases do. glibc's `shared_mutex` prefers readers and starves writers.
struct WritersFirst {
  static constexpr char const* name = "pthread_rwlock, writers first";
  pthread_rwlock_t lock;
  std::int64_t payload[payload_size]{};

  WritersFirst() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~WritersFirst() { pthread_rwlock_destroy(&lock); }

  std::int64_t read() {
    pthread_rwlock_rdlock(&lock);
    std::int64_t const value = read_payload(payload);
    pthread_rwlock_unlock(&lock);
    return value;
  }
  void write() {
    pthread_rwlock_wrlock(&lock);
    write_payload(payload);
    pthread_rwlock_unlock(&lock);
  }
};

// A lower bound for locks with one shared word: one atomic add to acquire, one to release, spinning in between.
struct OneWord {
  static constexpr char const* name = "floor: one atomic word, spinning";
  std::atomic<std::int64_t> word{0};
  std::int64_t payload[payload_size]{};
  static constexpr std::int64_t writer = std::int64_t{1} << 32;

  std::int64_t read() {
    while (word.fetch_add(1) >= writer) {
      word.fetch_sub(1);
      std::this_thread::yield();
    }
    std::int64_t const value = read_payload(payload);
    word.fetch_sub(1);
    return value;
  }
  void write() {
    for (std::int64_t free = 0; !word.compare_exchange_weak(free, writer); free = 0) std::this_thread::yield();
    write_payload(payload);
    word.fetch_sub(writer);
  }
};

template <class Lock>
double seconds_per_grant(int threads, std::chrono::milliseconds duration) {
  Lock lock;
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> granted{0}, sink{0};
  std::barrier ready(threads + 1);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::uint32_t random = 2463534242u + 7919u * static_cast<std::uint32_t>(t);
      std::int64_t count = 0, sum = 0;
      ready.arrive_and_wait();
      for (; !stop.load(std::memory_order_relaxed); ++count) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        if (random % 100 < percent_of_writes) {
          lock.write();
        } else {
          sum += lock.read();
        }
      }
      granted += count;
      sink += sum;
    });
  }
  ready.arrive_and_wait();
  double const start = now(threads == 1);
  std::this_thread::sleep_for(duration);
  stop = true;
  for (auto& worker : workers) worker.join();
  return (now(threads == 1) - start) / static_cast<double>(granted.load());
}

struct Contender {
  std::string name;
  std::function<double(int, std::chrono::milliseconds)> sample;
  std::vector<double> costs;
};

template <class Lock>
Contender contender() {
  return {Lock::name, seconds_per_grant<Lock>, {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: lease_throughput THREADS SAMPLES MILLISECONDS\n");
    return 2;
  }
  int const threads = std::atoi(argv[1]), samples = std::atoi(argv[2]);
  std::chrono::milliseconds const duration(std::atoi(argv[3]));
  Contender contenders[] = {contender<MemarrayLeases>(), contender<StdSharedMutex>(), contender<StdSharedTimedMutex>(),
                            contender<StdMutex>(),       contender<WritersFirst>(),   contender<OneWord>()};
  for (int s = 0; s < samples; ++s) {
    for (auto& each : contenders) each.costs.push_back(each.sample(threads, duration));
  }
  char const* separator = "{";
  for (auto const& each : contenders) {
    std::printf("%s\"%s\": [", separator, each.name.c_str());
    for (int s = 0; s < samples; ++s) std::printf("%s%.6e", s ? ", " : "", each.costs[s]);
    std::printf("]");
    separator = ", ";
  }
  std::printf("}\n");
}
