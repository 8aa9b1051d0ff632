#include "parts.hpp"

#include <cuda/std/mdspan>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

namespace arguments {
namespace {

using Reading = memarray::ArrayView<double const, 1>;
using Writing = memarray::ArrayView<double, 1>;
using ReadingThere = memarray::ArrayView<double const, 1, memarray::on_device>;
using WritingThere = memarray::ArrayView<double, 1, memarray::on_device>;
using Table = cuda::std::mdspan<double const, cuda::std::dextents<std::int64_t, 2>>;

// Kept until `drop`. Leaked, as modules are.
auto& kept_reading = *new std::optional<Reading>;
auto& kept_writing = *new std::optional<Writing>;
auto& kept_there = *new std::optional<ReadingThere>;

void drop_all() {
  kept_reading.reset();
  kept_writing.reset();
  kept_there.reset();
}

void add_kept(py::module_& module) {
  module.def("keep", [](Reading view) { kept_reading = std::move(view); });
  module.def("keep_copy", [](Reading const& view) { kept_reading = view; });
  module.def("keep_to_write", [](Writing const& view) { kept_writing = view; });
  module.def("kept_sum", [] { return sum(kept_reading.value()); });
  module.def("write_kept", [](double value) { kept_writing.value()(0) = value; });
  module.def("keep_in_stream", [](ReadingThere const& view, memarray::StreamHandle const& stream) {
    kept_there = view.in_stream(stream);
  });
  module.def("drop", drop_all);
  module.def("drop_in_a_thread", [] {
    memarray::RuntimeRelease const released;
    std::thread(drop_all).join();
  });
  module.def("keep_untyped", [](Reading const& view) {
    return py::cast(Reading(view.core()));  // an export, without the lease
  });
}

void add_calls(py::module_& module) {
  module.def("read_and_call", [](Reading const& view, py::object const& callback) {
    callback();
    return sum(view);
  });
  module.def("span_and_call", [](std::span<double const> values, py::object const& callback) {
    callback();
    double sum = 0;
    for (double const value : values) sum += value;
    return sum;
  });
  module.def("mdspan_and_call", [](Table values, py::object const& callback) {
    callback();
    double sum = 0;
    for (std::int64_t i = 0; i < values.extent(0); ++i)
      for (std::int64_t j = 0; j < values.extent(1); ++j) sum += values(i, j);
    return sum;
  });
  module.def("write_and_call", [](Writing view, py::object const& callback) {
    view(0) = 1;
    callback();
  });
  module.def("read_on_device_and_call", [](ReadingThere const& view, py::object const& callback) {
    callback();
    return view.size();
  });
  module.def("write_on_device_and_call", [](WritingThere const& view, double value, py::object const& callback) {
    view.core().fill(&value);
    callback();
  });
  module.def("fail", [](Writing) { throw std::runtime_error("as asked"); });
  module.def("copy_into", [](Reading const& from, Writing to) {
    for (std::int64_t i = 0; i < from.extent(0); ++i) to(i) = from(i);
  });
  // Reads for some time without the GIL, and says whether it saw one value only.
  module.def("read_without_gil", [](Reading const& view, double seconds) {
    memarray::RuntimeRelease const released;
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    do {
      for (std::int64_t i = 0; i < view.extent(0); ++i)
        if (view(i) != view(0)) return false;
    } while (std::chrono::steady_clock::now() < end);
    return true;
  });
  module.def("write_without_gil", [](Writing view, double value) {
    memarray::RuntimeRelease const released;
    for (std::int64_t i = 0; i < view.extent(0); ++i) view(i) = value;
  });
  module.def("sum_under_guard", [](Reading view) { return sum(view); }, py::call_guard<py::gil_scoped_release>());
}

void add_results(py::module_& module) {
  module.def("pass_on", [](Writing view) { return view; });
  module.def("pass_on_to_read", [](Writing const& view) { return Reading(view); });
  module.def("nothing", [] { return Reading(); });
  module.def("every_other", [](memarray::ArrayView<double, 1> const& view) {
    memarray::BufferView const part = memarray::BufferView(view.core()).slice(0, {.step = 2});
    return part.as<double, 1>();
  });
  module.def("made_here", [](std::int64_t size) {
    memarray::MemArray<float, 1> array({size});
    array.fill(2);
    return array.view().as<float const, 1>();
  });
}

void add_shared(py::module_& module) {
  using Array = memarray::MemArray<double, 1>;
  static auto& shared = *new std::shared_ptr<Array>;
  module.def("share", [](std::shared_ptr<Array> array) { shared = std::move(array); });
  module.def("shared", [] { return shared; });
  module.def("unshare", [] { shared.reset(); });
  module.def("shared_sum", [](std::shared_ptr<Array> const& array) {
    return array ? memarray::sum(*array, memarray::default_stream()) : -1.0;
  });
  module.def("fill_by_value", [](Array array, double value) { array.fill(value); });
  module.def("make", [](std::int64_t size) {
    Array array({size});
    array.fill(3);
    return array;
  });
}

}  // namespace

void add_holds(py::module_& module) {
  add_kept(module);
  add_calls(module);
  add_results(module);
  add_shared(module);
}

}  // namespace arguments
