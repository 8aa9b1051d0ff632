#include "tracer_module.hpp"
#include "tracers.hpp"

#include <cstdint>
#include <string>

namespace {

using Field = memarray::MemArray<double, 2>;
using Cloud = py::class_<tracers::Cloud>;

#ifdef TRACERS_NANOBIND
using Policy = py::rv_policy;
template <class Member>
void show_member(Cloud& cloud, char const* name, Member member) {
  cloud.def_ro(name, member);
}
#else
using Policy = py::return_value_policy;
template <class Member>
void show_member(Cloud& cloud, char const* name, Member member) {
  cloud.def_readonly(name, member);
}
#endif

/// Binds the result of `show` under each return value policy that fits it.
template <class Show>
void bind_show(Cloud& cloud, char const* name, Show const& show) {
  auto const bind = [&](char const* policy_name, auto policy) {
    cloud.def((std::string(name) + "_" + policy_name).c_str(), show, policy);
  };
  bind("automatic", Policy::automatic);
  bind("automatic_reference", Policy::automatic_reference);
  bind("copy", Policy::copy);
  bind("move", Policy::move);
  bind("reference", Policy::reference);
  bind("reference_internal", Policy::reference_internal);
}

}  // namespace

TRACERS_MODULE(tracers, module) {
  memarray::bind_mem_array<tracers::Tracer, 1>(module);
  memarray::bind_mem_array<std::int16_t, 7>(module);
  Cloud cloud(module, "Cloud");
  cloud.def(py::init<std::int64_t>())
      .def("drift", &tracers::Cloud::drift)
      .def("renew", &tracers::Cloud::renew)
      .def("take", &tracers::Cloud::take)
      .def("number", &tracers::Cloud::number)
      .def("sum_of_ids", &tracers::Cloud::sum_of_ids)
      .def("address", [](tracers::Cloud const& self) { return reinterpret_cast<std::uintptr_t>(self._field.ptr()); });
  show_member(cloud, "field", &tracers::Cloud::_field);
  show_member(cloud, "tracers", &tracers::Cloud::_tracers);
  bind_show(cloud, "reference", [](tracers::Cloud& self) -> Field& { return self._field; });
  bind_show(cloud, "constant", [](tracers::Cloud const& self) -> Field const& { return self._field; });
  bind_show(cloud, "pointer", [](tracers::Cloud& self) { return &self._field; });
  bind_show(cloud, "constant_pointer", [](tracers::Cloud const& self) { return &self._field; });
  cloud.def("nothing", [](tracers::Cloud&) -> Field* { return nullptr; });
  // A pointer is handed over only if its array was made to be.
  cloud.def("hand_over", [](tracers::Cloud& self) { return new Field(self.take()); }, Policy::take_ownership);
  tracers::bind_views(module);
  module.def("stream_of", [](int device_id) {
    return memarray::as_py(memarray::create_stream_handle(memarray::get_primary_context(device_id)));
  });
  module.def("event_of", [](int device_id, bool timing) {
    return memarray::as_py(memarray::create_event_handle(memarray::get_primary_context(device_id), timing));
  });
  module.def("pool_of", [](int device_id) { return memarray::as_py(memarray::create_memory_pool_handle(device_id)); });
  module.def("total", [](memarray::MemArray<double, 2> const& array) {
    return memarray::sum(array, memarray::default_stream());
  });
}
