// Compares loops that memory bounds, with those of other models, in one program. `bandwidth THREADS ROUNDS
// MILLISECONDS ELEMENTS` prints, for each kernel and model, the seconds of one call in each round.
#include <sched.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bandwidth_arrays.hpp"
#include "rounds.hpp"

namespace {

namespace plain {

double copy(Fields& f) {
  for (std::int64_t i = 0; i < f.size; ++i) f.c[i] = f.a[i];
  return 0;
}

double mul(Fields& f) {
  double const* const c = f.c;
  double* const b = f.b;
  for (std::int64_t i = 0; i < f.size; ++i) b[i] = scalar * c[i];
  return 0;
}

double add(Fields& f) {
  double const *const a = f.a, *const b = f.b;
  double* const c = f.c;
  for (std::int64_t i = 0; i < f.size; ++i) c[i] = a[i] + b[i];
  return 0;
}

double triad(Fields& f) {
  double const *const b = f.b, *const c = f.c;
  double* const a = f.a;
  for (std::int64_t i = 0; i < f.size; ++i) a[i] = b[i] + scalar * c[i];
  return 0;
}

double dot(Fields& f) {
  double sum = 0;
  for (std::int64_t i = 0; i < f.size; ++i) sum += f.a[i] * f.b[i];
  return sum;
}

double sum(Fields& f) {
  double sum = 0;
  for (std::int64_t i = 0; i < f.size; ++i) sum += f.a[i];
  return sum;
}

double nstream(Fields& f) {
  double const *const b = f.b, *const c = f.c;
  double* const a = f.a;
  for (std::int64_t i = 0; i < f.size; ++i) a[i] += b[i] + scalar * c[i];
  return 0;
}

}  // namespace plain

// A floor of two threads: each runs half of a plain loop, and waits actively for the other.
namespace least {

double dot(Fields& f) {
  double const *const a = f.a, *const b = f.b;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < f.size; ++i) sum += a[i] * b[i];
  return sum;
}

double sum(Fields& f) {
  double const* const a = f.a;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < f.size; ++i) sum += a[i];
  return sum;
}

constexpr long without_end = std::numeric_limits<long>::max();

/// Polls until `counter` is `value`. Returns false if it is not after `turns` polls.
bool poll(std::atomic<int> const& counter, int value, long turns = without_end) {
  for (long turn = 1; counter.load(std::memory_order_acquire) != value; ++turn) {
    if (turn == turns) return false;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (turn % 1024 == 0) std::this_thread::yield();  // the other thread may need this core
  }
  return true;
}

/// A second thread for all batches. It polls within a batch and shortly after it, and then sleeps until the next.
class SecondThread {
 public:
  SecondThread() = default;
  SecondThread(SecondThread const&) = delete;
  SecondThread& operator=(SecondThread const&) = delete;
  ~SecondThread() {
    _run = nullptr;
    begin_batch(1);
    _thread.join();
  }

  /// Runs `times` calls, each in two halves. Returns the value of the last.
  double halves(Fields const& f, double (*run)(Fields&), long times) {
    Fields lower = f, upper = f;
    lower.size /= 2;
    upper.size -= lower.size;
    for (double** const each : {&upper.a, &upper.b, &upper.c}) *each += lower.size;
    _run = run;
    _upper = &upper;
    int call = begin_batch(static_cast<int>(times));
    for (int const last = _last;; _begun.store(++call, std::memory_order_release)) {
      double const value = run(lower);
      poll(_ended, call);
      if (call == last) return value + _value;
    }
  }

 private:
  static constexpr long turns_after_batch = 1 << 14;

  /// Begins the first call, and returns its number.
  int begin_batch(int times) {
    int const call = _last + 1;
    _last += times;
    _callers_cpu = sched_getcpu();
    _begun.store(call);
    _begun.notify_one();
    return call;
  }

  /// Leaves the caller's CPU: the scheduler may keep two threads that yield to each other on one.
  void leave_callers_cpu(cpu_set_t others) const {
    if (sched_getcpu() != _callers_cpu) return;
    CPU_CLR(_callers_cpu, &others);
    if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
  }

  void serve() {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    bool is_in_batch = false;
    for (int call = 1;; ++call) {
      if (!poll(_begun, call, is_in_batch ? without_end : turns_after_batch)) _begun.wait(call - 1);
      if (!_run) return;
      if (!is_in_batch) leave_callers_cpu(allowed);
      _value = _run(*_upper);
      is_in_batch = call != _last;
      _ended.store(call, std::memory_order_release);
    }
  }

  alignas(64) std::atomic<int> _begun{0};
  alignas(64) std::atomic<int> _ended{0};
  double _value = 0;
  alignas(64) double (*_run)(Fields&) = nullptr;  ///< null ends the thread
  Fields* _upper = nullptr;
  int _last = 0;  ///< call of the batch
  int _callers_cpu = 0;
  std::thread _thread{[this] { serve(); }};
};

}  // namespace least

constexpr Kernels plain_kernels = {plain::copy, plain::mul, plain::add,    plain::triad,
                                   plain::dot,  plain::sum, plain::nstream};
constexpr Kernels least_kernels = {plain::copy, plain::mul, plain::add,    plain::triad,
                                   least::dot,  least::sum, plain::nstream};

constexpr std::size_t dot_kernel = 4, sum_kernel = 5;

double start_of_a(std::int64_t i) { return 1 + static_cast<double>(i % 7); }
double start_of_b(std::int64_t i) { return 2 + static_cast<double>(i % 5); }
double start_of_c(std::int64_t i) { return 3 + static_cast<double>(i % 3); }

void fill(Fields& f) {
  for (std::int64_t i = 0; i < f.size; ++i) f.a[i] = start_of_a(i);
  for (std::int64_t i = 0; i < f.size; ++i) f.b[i] = start_of_b(i);
  for (std::int64_t i = 0; i < f.size; ++i) f.c[i] = start_of_c(i);
}

/// True if `found` is `expected`, up to a fused multiplication.
bool near(double found, double expected, double relative) {
  return std::abs(found - expected) <= relative * std::abs(expected);
}

/// Runs kernel `k` once on known contents, and ends the program if any element, or the value, is wrong.
void check(Fields& f, std::size_t k, std::string const& model, std::function<double()> const& run) {
  fill(f);
  double const value = run();
  double expected_product = 0, expected_sum = 0;
  bool right = true;
  for (std::int64_t i = 0; i < f.size; ++i) {
    double a = start_of_a(i), b = start_of_b(i), c = start_of_c(i);
    expected_product += a * b;
    expected_sum += a;
    if (k == 0) c = a;
    if (k == 1) b = scalar * c;
    if (k == 2) c = a + b;
    if (k == 3) a = b + scalar * c;
    if (k == 6) a += b + scalar * c;
    right = right && near(f.a[i], a, 1e-15) && near(f.b[i], b, 1e-15) && near(f.c[i], c, 1e-15);
  }
  if (k == dot_kernel) right = right && near(value, expected_product, 1e-9);
  if (k == sum_kernel) right = right && near(value, expected_sum, 1e-9);
  if (right) return;
  std::fprintf(stderr, "bandwidth: %s by %s computes something else\n", kernel_names[k], model.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bandwidth THREADS ROUNDS MILLISECONDS ELEMENTS\n");
    return 2;
  }
  int const threads = std::atoi(argv[1]), rounds = std::atoi(argv[2]), milliseconds = std::atoi(argv[3]);
  memarray::options().threads = threads;
  Arrays arrays(std::atoll(argv[4]));
  Fields fields{arrays, arrays.a.ptr(), arrays.b.ptr(), arrays.c.ptr(), arrays.a.get_size(), threads};
  std::vector<std::pair<std::string, Kernels>> models = {{"memarray", memarray_kernels}, {"plain loop", plain_kernels}};
#ifdef WITH_OPENMP
  models.emplace_back("OpenMP", openmp_kernels);
#endif
#ifdef WITH_TBB
  start_algorithms(threads);
  models.emplace_back("standard algorithms, TBB", algorithm_kernels);
#endif
#ifdef WITH_KOKKOS
  start_kokkos(threads);
  models.emplace_back("Kokkos", kokkos_kernels);
#endif
  std::optional<least::SecondThread> second;
  if (threads == 2) second.emplace();
  Costs costs;
  for (std::size_t k = 0; k < kernel_names.size(); ++k) {
    std::vector<Contender> contenders;
    auto const add = [&](std::string const& name, double (*run)(Fields&)) {
      check(fields, k, name, [&] { return run(fields); });
      contenders.push_back(contender(name, [&fields, run] { run(fields); }));
    };
    for (auto const& [name, kernels] : models) add(name, kernels[k]);
    if (k == dot_kernel) add("memarray: transform_reduce", transformed_by_memarray);
    if (threads == 2) {
      std::string const name = "floor: halves of a plain loop, which two threads hand over and wait for";
      check(fields, k, name, [&] { return second->halves(fields, least_kernels[k], 1); });
      contenders.push_back(
          {name, [&fields, &second, k](long times) { second->halves(fields, least_kernels[k], times); }});
    }
    fill(fields);
    add_rounds(costs, kernel_names[k], contenders, rounds, milliseconds, threads);
  }
  print(costs);
#ifdef WITH_KOKKOS
  stop_kokkos();
#endif
}
