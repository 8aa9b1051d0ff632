#include "plate.hpp"

#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/last_error.hpp>

namespace heat {

using memarray::for_each_index;
using memarray::overwrite;
using memarray::read;
using memarray::update;
using memarray::write;

namespace {

template <class T>
using In = memarray::ArrayIndexer<T const, 2>;
template <class T>
using Out = memarray::ArrayIndexer<T, 2>;

/// With 32-bit indices where the size allows.
struct Spread {
  double rate;

  template <class Index>
  MEMARRAY_HD double at(In<double> const& from, Index row, Index column) const {
    auto const& shape = from.shape();
    bool const inside = row >= 0 && column >= 0 && row < shape[0] && column < shape[1];
    return inside ? from[{row, column}] : 0.0;
  }

  template <class Indices>
  MEMARRAY_HD void operator()(Indices const& i, In<double> from, Out<double> to) const {
    double const here = from[i];
    double const around =
        at(from, i[0] - 1, i[1]) + at(from, i[0] + 1, i[1]) + at(from, i[0], i[1] - 1) + at(from, i[0], i[1] + 1);
    to[i] = here + rate * (around - 4 * here);
  }
};

struct CountAbove {
  double limit;

  template <class Indices>
  MEMARRAY_HD void operator()(Indices const& i, In<double> from, memarray::ArrayIndexer<std::int64_t, 1> counts) const {
    if (from[i] > limit) memarray::atomic_add(*counts.get(i[0]), std::int64_t{1});
  }
};

struct Cool {
  double factor;

  template <class Indices>
  MEMARRAY_HD void operator()(Indices const&, double& temperature, float& lost) const {
    double const before = temperature;
    temperature *= factor;
    lost += static_cast<float>(before - temperature);
  }
};

}  // namespace

// Not in the constructor, where nvcc takes no lambda for the device.
void slope(memarray::MemArray<double, 2>& array, memarray::StreamHandle const& stream) {
  for_each_index(array, stream, [] MEMARRAY_HD(double& element, cuda::std::array<std::int64_t, 2> const& i) {
    element = static_cast<double>(i[0] + i[1]);
  });
}

Plate::Plate(std::int64_t rows, std::int64_t columns)
    : temperature({rows, columns}),
      lost({rows, columns}),
      counts({rows}),
      _other({rows, columns}),
      _streams{memarray::default_stream(), memarray::default_stream()} {
  slope(temperature, next_stream());
}

void Plate::move(int device_id) {
  memarray::StreamHandle streams[2] = {memarray::default_stream(), memarray::default_stream()};
  if (device_id >= 0) {
    auto const context = memarray::get_primary_context(device_id);
    if (!context) memarray::throw_last_error("moving the plate");
    for (memarray::StreamHandle& stream : streams) {
      stream = memarray::create_stream_handle(context);
      if (!stream) memarray::throw_last_error("moving the plate");
    }
  }
  auto const move_all = [&](auto&... arrays) {
    (arrays.move_memory(device_id < 0 ? kDLCPU : kDLCUDA, 0, device_id < 0 ? 0 : device_id), ...);
  };
  move_all(temperature, lost, counts, _other);
  for (int i = 0; i < 2; ++i) _streams[i] = streams[i];
}

memarray::StreamHandle const& Plate::next_stream() { return _streams[_turn = 1 - _turn]; }

void Plate::spread(double rate) {
  for_each_index(temperature.get_shape(), next_stream(), Spread{rate}, read(temperature), overwrite(_other));
  temperature.exchange(_other);
}

void Plate::count_above(double limit) {
  for_each_index(temperature.get_shape(), next_stream(), CountAbove{limit}, read(temperature), write(counts));
}

void Plate::cool(double factor) {
  for_each_index(temperature.get_shape(), next_stream(), Cool{factor}, update(temperature), update(lost));
}

void Plate::heat(std::int64_t first, double by) {
  for_each_index(temperature, next_stream(),
                 [=] MEMARRAY_HD(double& element, cuda::std::array<std::int64_t, 2> const& i) {
                   if (i[0] >= first) element += by;
                 });
}

double Plate::total() const { return memarray::sum(temperature, _streams[0]); }

std::complex<double> total_of_sums(memarray::MemArray<std::complex<double>, 1>& waves) {
  memarray::MemArray<std::complex<double>, 1> sums(waves.get_shape());
  memarray::add_index_tuple(waves);
  std::complex<double> const last = memarray::exclusive_scan(waves, sums, memarray::default_stream());
  return last + memarray::sum(sums, memarray::default_stream());
}

bool Plate::is_compiled_by_nvcc() const {
#if defined(__CUDACC__)
  return true;
#else
  return false;
#endif
}

}  // namespace heat
