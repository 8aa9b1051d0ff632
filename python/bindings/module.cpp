// The module memarray._core. Types with hot methods use the C API, the rest pybind11.

#include "argument_errors.hpp"
#include "array/array_type.hpp"
#include "array/shared_bytes.hpp"
#include "cuda/handle_types.hpp"
#include "export/buffer.hpp"
#include "export/dlpack_capsule.hpp"
#include "export/exchange_api.hpp"
#include "gil.hpp"
#include "helpers.hpp"
#include "import/plain_memory.hpp"
#include "import/view_import.hpp"
#include "lease/lease_group_type.hpp"
#include "lease/lease_type.hpp"
#include "object_bridge.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "testing/consumer.hpp"
#include "view/view_load.hpp"
#include "view/view_object.hpp"
#include "view/view_reduce.hpp"

#include "interop/open_resources.hpp"
#include "memory/deferred.hpp"

#include <memarray/interop/c_api.h>
#include <memarray/base/build_info.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/live_memory.hpp>
#include <memarray/base/options.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/python/bridge.hpp>
#include <memarray/detail/view/adopt.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/kernel/add_index_tuple.hpp>
#include <memarray/memory/default_resource.hpp>

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

namespace py = pybind11;

namespace memarray::python {
namespace {

constexpr int shipped_ranks = 6;

/// Refuses pickling and copying, which would make uninitialized objects: reading those ends the process.
void refuse_pickling(py::object const& type) {
  auto const refuse = [](py::handle self, py::args const&) -> py::object {
    throw py::type_error("cannot pickle or copy a " + py::cast<std::string>(py::type::of(self).attr("__name__")) +
                         ": it stands for a resource of this process");
  };
  for (char const* const name : {"__reduce_ex__", "__reduce__"})
    py::setattr(type, name, py::cpp_function(refuse, py::name(name), py::is_method(type), "Refused: TypeError."));
}

Bridge const bridge = {
    .version = Bridge::current_version,
    .wrap = wrap_state,
    .unwrap = unwrap_state,
    .register_instance = register_instance,
    .wrap_stream = wrap_stream,
    .wrap_event = wrap_event,
    .wrap_pool = wrap_pool,
    .load_view = load_view,
    .wrap_view = wrap_view,
    .load_stream = load_stream,
    .translate = [](std::exception_ptr const& error) { return translate(error); },
};

void check(int status) {
  if (status != 0) throw py::error_already_set();
}

py::dict stats() {
  detail::run_deferred();  // frees memory whose release was deferred
  Counters const& c = counters();
  LiveMemory const live = live_memory();
  PoolingAdaptor::Statistics const pool = host_memory_statistics();
  py::dict result;
  result["copies"] = c.copies.load();
  result["copied_bytes"] = c.copied_bytes.load();
  result["waits"] = c.waits.load();
  result["to_device_bytes"] = c.to_device_bytes.load();
  result["to_host_bytes"] = c.to_host_bytes.load();
  result["between_devices_bytes"] = c.between_devices_bytes.load();
  result["versions"] = c.versions.load();
  result["live_blocks"] = live.blocks;
  result["live_bytes"] = live.bytes;
  result["pool_bytes"] = pool.kept_bytes;
  result["pool_blocks"] = pool.kept_blocks;
  result["pool_hits"] = pool.hits;
  result["pool_misses"] = pool.misses;
  return result;
}

py::dict build_information() {
  py::dict result;
  for (auto const& [key, value] : build_info()) result[py::str(std::string(key))] = py::str(std::string(value));
  return result;
}

void add_functions(py::module_& m) {
  m.def("stats", &stats);
  m.def("build_info", &build_information);
  m.def("trim", [](Parameter<std::size_t> keep) { return trim(keep); }, py::arg("keep") = 0);
  m.def("device_count", [] { return device_count(); });
  m.def("report_copy", [](std::int64_t bytes, std::string const& why) {
    report_copy(bytes, why);
    log_reports();
  });
  m.def("check_unannotated", [](py::handle object) {
    if (!check_unannotated(object.ptr())) throw py::error_already_set();
  });
  m.def("device_parts", [](py::handle name) {
    std::optional<Device> device;
    if (!read_device(name.ptr(), device)) throw py::error_already_set();
    if (!device) throw TypeError("a device is 'cpu' or 'cuda:0', not None");
    return py::make_tuple(device->is_cpu() ? "cpu" : "cuda", device->id);
  });
  m.def("is_integer", [](py::handle object) { return is_integer(object.ptr()); });
  m.def("shown", [](py::handle object) { return shown(object.ptr()); });
  m.def("first_line", [](py::handle error) { return first_line(error.ptr()); });
  m.def("raw_interface", [](py::handle object) {
    detail::LeaseCore* const lease = lease_of(object.ptr());
    if (!lease && !is_view(object.ptr())) throw TypeError("raw_interface takes a lease or a view");
    py::object result =
        py::reinterpret_steal<py::object>(lease ? lease_raw_interface(*lease) : pinned_interface(object.ptr()));
    if (!result) throw py::error_already_set();
    return result;
  });
  m.def("adopt", [](py::handle type, py::handle object, py::object const& copy) {
    if (!is_view(object.ptr()) || !PyType_Check(type.ptr())) throw TypeError("adopt takes a class and a BufferView");
    detail::ViewCore const view = view_of(object.ptr());
    Copy wanted = Copy::allowed;
    if (!read_copy(copy.ptr(), wanted)) throw py::error_already_set();
    bool const copies = wanted == Copy::always || (wanted == Copy::allowed && detail::why_not_adopted(view));
    detail::ArrayStatePtr state = copies ? detail::adopt_copy(view) : detail::adopt(view);
    PyObject* const array = make_array(reinterpret_cast<PyTypeObject*>(type.ptr()), std::move(state));
    log_reports();
    if (!array) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(array);
  });
  m.def("shared_layout", [](py::handle view) {
    auto layout = py::reinterpret_steal<py::object>(shared_layout(view.ptr()));
    if (!layout) throw py::error_already_set();
    return layout;
  });
  m.def("set_array_class", [](py::handle type) { check(set_array_class(type.ptr())); });
  m.def("get_threads", [] { return options().threads.load(); });
  m.def("threads_in_use", [] { return threads(); });
  m.def("set_threads", [](int threads) { options().threads.store(threads); });
  m.def("get_pool_limit", [] { return options().pool_limit.load(); });
  m.def("set_pool_limit", [](std::size_t bytes) {
    options().pool_limit.store(bytes);
    if (host_memory_statistics().kept_bytes > bytes) trim(bytes);
  });
  m.def("get_escaped_views", [] { return std::string(to_string(options().escaped_views.load())); });
  m.def("set_escaped_views", [](py::object const& word) {
    EscapedViews policy{};
    if (!read_escaped_views(word.ptr(), policy)) throw py::error_already_set();
    options().escaped_views.store(policy);
  });
  m.def("get_trace_leases", [] { return options().trace_leases.load(); });
  m.def("set_trace_leases", [](bool on) { options().trace_leases.store(on); });
  m.def("get_trace_resources", [] { return traces_resources(); });
  m.def("set_trace_resources", [](bool on) { trace_resources(on); });
  m.def("open_resources", [] {
    py::list words;
    for (std::string const& word : open_resources()) words.append(word);
    return words;
  });
}

void add_index(detail::ArrayState& state, std::int64_t stream) {
  detail::add_index_tuple(state, StreamChoice::numbered(stream));
}

void register_shipped() {
  for (DType const& dtype : shipped_dtypes())
    for (int ndim = 1; ndim <= shipped_ranks; ++ndim) check(register_instance(dtype, ndim, add_index));
}

}  // namespace
}  // namespace memarray::python

// Safe without the GIL: arrays have locks, leases and handles change atomically, `ViewScope` protects views.
PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  using namespace memarray::python;
  install_hooks();
  check(add_errors(m.ptr()));
  if (!init_dlpack_request() || !init_view_reduce() || !init_view_import() || !init_exchange_api())
    throw py::error_already_set();
  check(add_lease_type(m.ptr()));
  check(add_lease_group_type(m.ptr()));
  check(add_memory_keep_alive_type());
  check(add_view_type(m.ptr()));
  check(add_array_type(m.ptr()));
  check(add_instances(m.ptr()));
  register_shipped();
  py::register_local_exception_translator(
      [](std::exception_ptr error) {  // NOLINT(performance-unnecessary-value-param): the type pybind11 asks for
        if (error && !translate(error)) std::rethrow_exception(error);
      });
  add_functions(m);
  add_resource_types(m);
  add_cuda_functions(m);
  add_simulated_devices(m);
  add_consumer(m);
  for (char const* const name :
       {"Stream", "Event", "MemoryPool", "SimulatedDevices", "ConsumerReading", "ConsumerView", "ConsumerBacklog"})
    refuse_pickling(m.attr(name));
  shorten_argument_errors(m);
  install_object_bridge();
  m.attr("_C_API") = py::capsule(memarray_c_api(), "memarray._core._C_API");
  m.attr("_PYTHON_API") = py::capsule(&bridge, Bridge::capsule_name);
}
