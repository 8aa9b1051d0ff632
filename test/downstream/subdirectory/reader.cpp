#include <memarray/python/memarray.hpp>

PYBIND11_MODULE(reader, module) {
  module.def("total", [](memarray::ArrayView<double const, 1> const& view) {
    double sum = 0;
    for (std::int64_t i = 0; i < view.extent(0); ++i) sum += view(i);
    return sum;
  });
  module.def("ones", [](std::int64_t size) {
    memarray::MemArray<double, 1> array({size});
    array.fill(1);
    return array;
  });
}
