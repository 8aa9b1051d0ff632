// Compares the sum of a dense view with hand-written loops, in one program. `read_loops SAMPLES ELEMENTS` prints, for
// each loop, the seconds to sum ELEMENTS floats in each sample; the loops take turns within a round.
#include <memarray/memarray.hpp>
#include <memarray/view/buffer_view.hpp>

#include <time.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

// The floor reads `places` parts in turn, each of `part` elements.
constexpr std::int64_t places = 8, part = 8192;

double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Sums in the simplest way: with a single accumulator, whose additions depend on each other.
double in_double(float const* data, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += data[i];
  return sum;
}

template <class Sum, std::int64_t lanes>
double in_lanes(float const* data, std::int64_t size) {
  Sum sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += static_cast<Sum>(data[i + lane]);
  double total = 0;
  for (Sum const sum : sums) total += static_cast<double>(sum);
  for (; i < size; ++i) total += data[i];
  return total;
}

/// Sums in float, reads eight places in turn, and prefetches: a lower bound of the time, with less precision.
float floor_of_part(float const* data) {
  typedef float Line __attribute__((vector_size(64)));
  constexpr std::int64_t lanes = 16, ahead = 512;
  Line sums[places] = {};
  for (std::int64_t i = 0; i < part; i += lanes) {
    float const* const next = data + i + ahead + (i + ahead < part ? 0 : (places - 1) * part);
#pragma GCC unroll 8
    for (std::int64_t p = 0; p < places; ++p) {
      __builtin_prefetch(next + p * part);
      Line line;
      std::memcpy(&line, data + p * part + i, sizeof line);
      sums[p] += line;
    }
  }
  float total = 0;
  for (Line const& line : sums)
    for (std::int64_t lane = 0; lane < lanes; ++lane) total += line[lane];
  return total;
}

double floor_of_reading(float const* data, std::int64_t size) {
  double total = 0;
  std::int64_t i = 0;
  for (; i + places * part <= size; i += places * part) total += floor_of_part(data + i);
  for (; i < size; ++i) total += data[i];
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: read_loops SAMPLES ELEMENTS\n");
    return 2;
  }
  int const samples = std::atoi(argv[1]);
  std::int64_t const size = std::atoll(argv[2]);
  memarray::options().threads = 1;
  memarray::MemArray<float, 1> array({size});
  auto lease = memarray::WriteLease<float, 1>(array);
  for (std::int64_t i = 0; i < size; ++i) lease.ptr()[i] = static_cast<float>(i % 1000) * 0.001F;
  memarray::BufferView const view(lease);
  float const* const data = lease.ptr();
  auto const ours = [&] { return static_cast<double>(*reinterpret_cast<float const*>(view.sum().data())); };
  struct Way {
    char const* name;
    double (*run)(float const*, std::int64_t);
  };
  constexpr Way ways[] = {{"loop: one double", in_double},
                          {"loop: 16 doubles", in_lanes<double, 16>},
                          {"loop: 64 doubles", in_lanes<double, 64>},
                          {"loop: 64 floats", in_lanes<float, 64>},
                          {"floor", floor_of_reading}};
  std::vector<std::pair<std::string, std::vector<double>>> costs = {{"memarray", {}}};
  for (Way const& way : ways) costs.emplace_back(way.name, std::vector<double>());
  double const expected = ours();
  for (int s = 0; s < samples; ++s) {
    double start = now();
    if (ours() != expected) std::abort();
    costs[0].second.push_back(now() - start);
    for (std::size_t w = 0; w < std::size(ways); ++w) {
      start = now();
      double const sum = ways[w].run(data, size);
      costs[w + 1].second.push_back(now() - start);
      if (std::abs(sum - expected) > 1e-3 * expected) std::abort();
    }
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
