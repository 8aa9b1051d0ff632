// memarray's views and arrays as argument and result, bound with nanobind.
#include <memarray/python/nanobind.hpp>

#include "functions.hpp"

NB_MODULE(nanobind_views, module) {
  using View = memarray::ArrayView<float const, 1>;
  module.def("look", [](View const& view) { return functions::ends(view.data(), view.size()); });
#if !defined(ONE_FUNCTION)
  module.def("make", [] { return memarray::MemArray<float, 1>({functions::returned_size}); });
#endif
}
