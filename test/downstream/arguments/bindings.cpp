#include "parts.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Sample {
  float value;
  std::int32_t count;
};

}  // namespace

MEMARRAY_DTYPE(Sample);

ARGUMENTS_MODULE(arguments, module) {
  using memarray::ArrayView;
  arguments::add_sweep(module);
  arguments::add_options(module);
  arguments::add_containers(module);
  arguments::add_holds(module);
  module.attr("LIBRARY") = ARGUMENTS_LIBRARY;
  module.attr("MAJOR") = ARGUMENTS_LIBRARY_MAJOR;
  module.def("scale_any", [](ArrayView<float, 1> const& view, double factor) { arguments::scale(view, factor); });
  module.def("scale_any", [](ArrayView<double, 1> const& view, double factor) { arguments::scale(view, factor); });
  using Doubles = ArrayView<double const, 1>;
  using Floats = ArrayView<float const, 1>;
  module.def("sum_of_five", [](Doubles, Doubles, Doubles, Doubles, Doubles, double) { return "float64"; });
  module.def("sum_of_five", [](Floats, Doubles, Doubles, Doubles, Doubles, double) { return "float32"; });
  module.def("sum_of_two", [](Doubles, double, Doubles) { return "float64"; });
  module.def("sum_of_two", [](Doubles, double, Floats) { return "float32"; });
  // Overloads that differ in access.
  module.def("access", [](ArrayView<double, 1>) { return "write"; });
  module.def("access", [](Doubles) { return "read"; });
  module.def("access_with", [](ArrayView<double, 1>, std::string const&) { return "write"; });
  module.def("access_with", [](Doubles, int) { return "read"; });
  module.def("write_unconverted", [](ArrayView<double, 1>) {}, py::arg("view").noconvert());
  module.def("fail", [](std::string const& words) { throw std::runtime_error(words); });
  // Overloads for objects without memory.
  module.def("either", [](ArrayView<double const, 1>) { return "view"; });
  module.def("either", [](std::vector<double> const&) { return "list"; });
  module.def("either", [](std::string const&) { return "text"; });
  module.def("maybe", [](std::optional<ArrayView<double const, 1>> const& view) { return view.has_value(); });
  module.def("stream_or_number", [](int) { return "number"; });
  module.def("stream_or_number", [](memarray::StreamHandle const&) { return "stream"; });
  module.def("stream_or_number", [](std::string const&) { return "text"; });
  module.def("stream_handle", [](memarray::StreamHandle const& stream) { return memarray::as_intptr(stream); });
  module.def("same_stream", [](memarray::StreamHandle stream) { return stream; }, py::arg("stream") = py::none());
  memarray::bind_mem_array<Sample, 1>(module);
  module.def("count_samples", [](ArrayView<Sample const, 1> const& samples) {
    std::int32_t count = 0;
    for (std::int64_t i = 0; i < samples.extent(0); ++i) count += samples(i).count;
    return count;
  });
}
