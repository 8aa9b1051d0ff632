// Measures the cost of a handle beyond the driver's calls, on a driver of empty functions. `handle_costs SAMPLES
// MILLISECONDS` prints, for each variant, the seconds to create and drop one handle in each sample. The variants take
// turns within a round.
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using memarray::ContextHandle;
using memarray::DriverTable;
namespace cu = memarray::cu;

double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The smallest owner of a resource and its context: one allocation, two driver calls, no checks.
template <class Raw>
struct Bare {
  DriverTable const* driver;
  ContextHandle context;
  cu::Result (*destroy)(Raw);
  Raw resource{};
  Bare(DriverTable const* table, ContextHandle of, cu::Result (*end)(Raw))
      : driver(table), context(std::move(of)), destroy(end) {}
  Bare(Bare const&) = delete;
  Bare& operator=(Bare const&) = delete;
  ~Bare() { destroy(resource); }
};

std::shared_ptr<cu::Stream const> bare_stream(DriverTable const* driver, ContextHandle const& context) {
  auto const box = std::make_shared<Bare<cu::Stream>>(driver, context, driver->cuStreamDestroy);
  if (driver->cuStreamCreateWithPriority(&box->resource, 1, 0) != 0) return nullptr;
  return {box, &box->resource};
}

std::shared_ptr<cu::Event const> bare_event(DriverTable const* driver, ContextHandle const& context) {
  auto const box = std::make_shared<Bare<cu::Event>>(driver, context, driver->cuEventDestroy);
  if (driver->cuEventCreate(&box->resource, 2) != 0) return nullptr;
  return {box, &box->resource};
}

template <class Make>
double seconds(int milliseconds, Make const& make) {
  constexpr int batch = 1000;
  double const start = now();
  double const end = start + 1e-3 * milliseconds;
  double time = start;
  long count = 0;
  for (; time < end; time = now(), count += batch)
    for (int i = 0; i < batch; ++i)
      if (!make()) std::abort();
  return (time - start) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: handle_costs SAMPLES MILLISECONDS\n");
    return 2;
  }
  int const samples = std::atoi(argv[1]), milliseconds = std::atoi(argv[2]);
  ContextHandle const context = memarray::get_primary_context(0);
  if (!context) {
    std::fprintf(stderr, "handle_costs: no driver: the empty one's folder goes into LD_LIBRARY_PATH\n");
    return 1;
  }
  DriverTable const* const driver = memarray::driver_of(context);
  std::thread([] {}).join();  // makes reference counts atomic: libstdc++ skips atomics until the first thread
  std::vector<std::pair<std::string, std::vector<double>>> costs = {{"memarray stream", {}},
                                                                    {"make_shared and two calls, stream", {}},
                                                                    {"memarray event", {}},
                                                                    {"make_shared and two calls, event", {}}};
  for (int s = 0; s < samples; ++s) {
    costs[0].second.push_back(
        seconds(milliseconds, [&] { return memarray::create_stream_handle(context) != nullptr; }));
    costs[1].second.push_back(seconds(milliseconds, [&] { return bare_stream(driver, context) != nullptr; }));
    costs[2].second.push_back(seconds(milliseconds, [&] { return memarray::create_event_handle(context) != nullptr; }));
    costs[3].second.push_back(seconds(milliseconds, [&] { return bare_event(driver, context) != nullptr; }));
  }
  char const* separator = "{";
  for (auto const& [name, values] : costs) {
    std::printf("%s\"%s\": [", separator, name.c_str());
    for (std::size_t s = 0; s < values.size(); ++s) std::printf("%s%.6e", s ? ", " : "", values[s]);
    std::printf("]");
    separator = ", ";
  }
  std::printf("}\n");
}
