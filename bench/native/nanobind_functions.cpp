// nanobind's own nd-array as argument and result.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "functions.hpp"

namespace nb = nanobind;

#if !defined(ONE_FUNCTION)
namespace {

nb::capsule memory() {
  return nb::capsule(new float[functions::returned_size](),
                     [](void* memory) noexcept { delete[] static_cast<float*>(memory); });
}

/// Returns memory that the consumer of the nd-array owns.
template <class Framework>
nb::ndarray<Framework, float, nb::ndim<1>> owning() {
  nb::capsule const owner = memory();
  return nb::ndarray<Framework, float, nb::ndim<1>>(owner.data(), {static_cast<std::size_t>(functions::returned_size)},
                                                    owner);
}

}  // namespace
#endif

NB_MODULE(nanobind_functions, module) {
  using Array = nb::ndarray<float const, nb::ndim<1>, nb::device::cpu>;
  module.def("look",
             [](Array const& array) { return functions::ends(array.data(), static_cast<std::int64_t>(array.size())); });
#if !defined(ONE_FUNCTION)
  module.def("make", [] { return owning<nb::array_api>(); });
  module.def("make_numpy", [] { return owning<nb::numpy>(); });
  module.def("make_capsule", memory);
  nb::class_<functions::Owner>(module, "Owner");
  module.def("make_owner", [] { return functions::Owner(); });
#endif
}
