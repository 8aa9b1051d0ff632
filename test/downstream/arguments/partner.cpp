// Another extension in the same process, with another registry of types: they share the core alone.

#include "parts.hpp"

#include <optional>

ARGUMENTS_MODULE(partner, module) {
  module.attr("LIBRARY") = ARGUMENTS_LIBRARY;
  module.attr("MAJOR") = ARGUMENTS_LIBRARY_MAJOR;
  using Array = memarray::MemArray<double, 1>;
  using Reading = memarray::ArrayView<double const, 1>;
  static auto& kept = *new std::optional<Reading>;
  module.def("make", [](std::int64_t size) {
    Array array({size});
    array.fill(2);
    return array;
  });
  module.def("fill", [](memarray::ArrayView<double, 1> const& view, double value) {
    for (std::int64_t i = 0; i < view.extent(0); ++i) view(i) = value;
  });
  module.def("keep", [](Reading const& view) { kept = view; });
  module.def("drop", [] { kept.reset(); });
  module.def("part", [](Reading const& view) {
    return memarray::ConstBufferView(view.core()).slice(0, {.start = 1}).as<double const, 1>();
  });
  module.def("make_stream", [] { return memarray::create_stream_handle(memarray::get_primary_context(0)); });
  module.def("address", [](memarray::StreamHandle const& stream) { return memarray::as_intptr(stream); });
}
