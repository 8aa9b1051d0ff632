// A user's module, whose C++ threads use an array that Python threads use, too.

#include <memarray/base/hooks.hpp>
#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace py = pybind11;

namespace {

using Array = memarray::MemArray<std::int64_t, 1>;

struct Tally {
  std::atomic<std::int64_t> granted{0};
  std::atomic<std::int64_t> refused{0};
};

/// Owns the array that it works on, as simulations do.
class Crowd {
 public:
  explicit Crowd(std::int64_t length) : field({length}) {}

  /// Reads and writes on `threads` threads without the interpreter lock, until `stop` or for `seconds`.
  void run(int threads, double seconds) {
    memarray::RuntimeRelease const without_interpreter;
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([this, t, end] {
        for (std::int64_t round = 0; !_stopped && std::chrono::steady_clock::now() < end; ++round) {
          bool const writes = round % 2 == 0;
          Tally& tally = writes ? _writes : _reads;
          try {
            writes ? write(-1 - t - round * 64) : read();
            ++tally.granted;
          } catch (memarray::LockError const&) {
            ++tally.refused;
          }
          ::sched_yield();
        }
      });
    for (std::thread& worker : workers) worker.join();
  }

  void stop() { _stopped = true; }
  [[nodiscard]] bool torn() const { return _torn; }
  [[nodiscard]] py::dict tallies() const {
    py::dict all;
    all["read"] = py::make_tuple(_reads.granted.load(), _reads.refused.load());
    all["write"] = py::make_tuple(_writes.granted.load(), _writes.refused.load());
    return all;
  }

  Array field;

 private:
  static constexpr std::chrono::microseconds moment{100};

  void write(std::int64_t value) {
    memarray::WriteLease const lease(field, {.timeout = moment});
    auto const elements = lease.indexer();
    check(elements.pointer, elements.size());
    std::fill_n(elements.pointer, elements.size() / 2, value);
    ::sched_yield();
    std::fill(elements.pointer + elements.size() / 2, elements.pointer + elements.size(), value);
  }

  void read() {
    memarray::ReadLease const lease(field, {.timeout = moment});
    check(lease.ptr(), lease.indexer().size());
    ::sched_yield();
    check(lease.ptr(), lease.indexer().size());
  }

  void check(std::int64_t const* elements, std::int64_t size) {
    if (std::any_of(elements, elements + size, [&](std::int64_t element) { return element != elements[0]; }))
      _torn = true;
  }

  std::atomic<bool> _stopped{false};
  std::atomic<bool> _torn{false};
  Tally _reads;
  Tally _writes;
};

}  // namespace

PYBIND11_MODULE(contention, module) {
  memarray::python::initialize();
  py::class_<Crowd>(module, "Crowd")
      .def(py::init<std::int64_t>())
      .def("run", &Crowd::run)
      .def("stop", &Crowd::stop)
      .def_property_readonly("torn", &Crowd::torn)
      .def_property_readonly("tallies", &Crowd::tallies)
      .def_readonly("field", &Crowd::field);
}
