// Measures allocation from a pool and the return to it. `pool_throughput THREADS SAMPLES MILLISECONDS` prints, for each
// pattern and each pool, the seconds per block in each sample; the pools take turns within a round. One thread is timed
// by the process clock, several by the wall clock.
#include <memarray/memory/pageable_resource.hpp>
#include <memarray/memory/pooling_adaptor.hpp>

#include <time.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

double now(bool of_process) {
  timespec time{};
  clock_gettime(of_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void* from_system(std::size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }

struct Memarray {
  static constexpr char const* name = "memarray pool";
  memarray::PoolingAdaptor pool{memarray::PageableResource(), std::size_t{1} << 30};
  memarray::StreamHandle stream = memarray::default_stream();

  void* take(std::size_t bytes) { return pool.allocate(stream, bytes); }
  void give(void* pointer, std::size_t bytes) { pool.deallocate(stream, pointer, bytes); }
};

// Free blocks by size, newest first.
struct MapOfVectors {
  static constexpr char const* name = "std::mutex + std::map of vectors";
  std::mutex mutex;
  std::map<std::size_t, std::vector<void*>> free;

  ~MapOfVectors() {
    for (auto const& [bytes, blocks] : free)
      for (void* const block : blocks) std::free(block);
  }
  void* take(std::size_t bytes) {
    {
      std::lock_guard const guard(mutex);
      if (auto const found = free.find(bytes); found != free.end() && !found->second.empty()) {
        void* const block = found->second.back();
        found->second.pop_back();
        return block;
      }
    }
    return from_system(bytes);
  }
  void give(void* pointer, std::size_t bytes) {
    std::lock_guard const guard(mutex);
    free[bytes].push_back(pointer);
  }
};

// A first attempt at a pool: the smallest free block that is large enough.
struct BestFit {
  static constexpr char const* name = "std::mutex + std::multimap, best fit";
  std::mutex mutex;
  std::multimap<std::size_t, void*> free;
  std::map<void*, std::size_t> sizes;

  ~BestFit() {
    for (auto const& [bytes, block] : free) std::free(block);
  }
  void* take(std::size_t bytes) {
    std::lock_guard const guard(mutex);
    if (auto const found = free.lower_bound(bytes); found != free.end() && found->first <= bytes + bytes / 8) {
      void* const block = found->second;
      sizes[block] = found->first;
      free.erase(found);
      return block;
    }
    void* const block = from_system(bytes);
    sizes[block] = bytes;
    return block;
  }
  void give(void* pointer, std::size_t) {
    std::lock_guard const guard(mutex);
    auto const found = sizes.find(pointer);
    free.emplace(found->second, pointer);
    sizes.erase(found);
  }
};

struct System {
  static constexpr char const* name = "no pool: aligned_alloc and free";
  void* take(std::size_t bytes) { return from_system(bytes); }
  void give(void* pointer, std::size_t) { std::free(pointer); }
};

std::uint32_t next(std::uint32_t& random) {
  random ^= random << 13;
  random ^= random >> 17;
  return random ^= random << 5;
}

// A pattern that allocates and frees one block after the other, all of one size.
template <std::size_t bytes>
struct OneSize {
  template <class Pool>
  static std::int64_t run(Pool& pool, std::uint32_t, std::atomic<bool> const& stop) {
    std::int64_t count = 0;
    for (; !stop.load(std::memory_order_relaxed); ++count) {
      void* const block = pool.take(bytes);
      *static_cast<unsigned char volatile*>(block) = 1;
      pool.give(block, bytes);
    }
    return count;
  }
};

// A pattern that keeps 32 blocks of 12 sizes allocated. Each step frees a random block and allocates one of a random
// size.
struct Mixed {
  template <class Pool>
  static std::int64_t run(Pool& pool, std::uint32_t random, std::atomic<bool> const& stop) {
    constexpr std::size_t sizes[] = {4096,  5000,  8192,   12000,  20000,  32768,
                                     50000, 65536, 100000, 131072, 200000, 262144};
    std::pair<void*, std::size_t> alive[32] = {};
    std::int64_t count = 0;
    for (; !stop.load(std::memory_order_relaxed); ++count) {
      auto& [block, bytes] = alive[next(random) % 32];
      if (block) pool.give(block, bytes);
      bytes = sizes[next(random) % std::size(sizes)];
      block = pool.take(bytes);
      *static_cast<unsigned char volatile*>(block) = 1;
    }
    for (auto const& [block, bytes] : alive)
      if (block) pool.give(block, bytes);
    return count;
  }
};

template <class Pattern, class Pool>
double seconds_per_block(int threads, std::chrono::milliseconds duration) {
  Pool pool;
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> blocks{0};
  std::barrier ready(threads + 1);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::uint32_t const random = 2463534242u + 7919u * static_cast<std::uint32_t>(t);
      ready.arrive_and_wait();
      blocks += Pattern::run(pool, random, stop);
    });
  }
  ready.arrive_and_wait();
  double const start = now(threads == 1);
  std::this_thread::sleep_for(duration);
  stop = true;
  for (auto& worker : workers) worker.join();
  return (now(threads == 1) - start) / static_cast<double>(blocks.load());
}

struct Contender {
  std::string name;
  std::function<double(int, std::chrono::milliseconds)> sample;
  std::vector<double> costs;
};

template <class Pattern>
void add(std::vector<Contender>& contenders, std::string const& pattern) {
  auto const one = [&]<class Pool>(Pool*) {
    contenders.push_back({pattern + " | " + Pool::name, seconds_per_block<Pattern, Pool>, {}});
  };
  one(static_cast<Memarray*>(nullptr));
  one(static_cast<MapOfVectors*>(nullptr));
  one(static_cast<BestFit*>(nullptr));
  one(static_cast<System*>(nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: pool_throughput THREADS SAMPLES MILLISECONDS\n");
    return 2;
  }
  int const threads = std::atoi(argv[1]), samples = std::atoi(argv[2]);
  std::chrono::milliseconds const duration(std::atoi(argv[3]));
  std::vector<Contender> contenders;
  add<OneSize<4096>>(contenders, "4 KiB");
  add<OneSize<65536>>(contenders, "64 KiB");
  add<OneSize<std::size_t{1} << 20>>(contenders, "1 MiB");
  add<OneSize<std::size_t{16} << 20>>(contenders, "16 MiB");
  add<Mixed>(contenders, "12 sizes, 32 blocks alive");
  for (int s = 0; s < samples; ++s) {
    for (auto& each : contenders) each.costs.push_back(each.sample(threads, duration));
  }
  char const* separator = "{";
  for (auto const& each : contenders) {
    std::printf("%s\"%s\": [", separator, each.name.c_str());
    for (std::size_t s = 0; s < each.costs.size(); ++s) std::printf("%s%.6e", s ? ", " : "", each.costs[s]);
    std::printf("]");
    separator = ", ";
  }
  std::printf("}\n");
}
