// Ways in which a nanobind project can export an array under a lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "exported_array.hpp"

#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// The array with hand-written capsules. nanobind binds a C++ type only once, so each variant has its own type.
struct CapsuleArray : exported::Array {
  using Array::Array;
};

// Returns an nd-array that is exported repeatedly. It owns the memory, so that no cycle keeps the array alive.
nb::object nd_array(exported::Memory const& memory) {
  using NdArray = nb::ndarray<nb::array_api, float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  nb::capsule owner(new exported::Memory(memory),
                    [](void* kept) noexcept { delete static_cast<exported::Memory*>(kept); });
  return nb::cast(NdArray(memory->data(), {memory->size()}, owner));
}

struct ForwardingArray : exported::Array {
  using Array::Array;
  nb::object tensor = nd_array(memory);
};

struct YieldingArray : exported::Array {
  using Array::Array;
  nb::object tensor = nd_array(memory);
};

struct KeptArray {
  explicit KeptArray(nb::ndarray<> given) : array(std::move(given)) {}
  nb::ndarray<> array;
};

template <class A>
struct Lease {
  A* array;
};

exported::Array& array_of(exported::Array& array) { return array; }

template <class A>
A& array_of(Lease<A>& lease) {
  return *lease.array;
}

template <class T>
void def_session(nb::class_<T>& cls) {
  cls.def("__enter__",
          [](nb::handle self) {
            array_of(nb::cast<T&>(self)).enter();
            return nb::borrow(self);
          })
      .def(
          "__exit__", [](T& self, nb::handle, nb::handle, nb::handle) { array_of(self).exit(); }, nb::arg().none(),
          nb::arg().none(), nb::arg().none())
      .def("__dlpack_device__", [](T&) { return nb::make_tuple(1, 0); });
}

template <class T>
void def_capsules(nb::class_<T>& cls) {
  cls.def(
      "__dlpack__",
      [](T& self, nb::handle, nb::handle max_version, nb::handle, nb::handle) {
        return nb::steal(exported::make_capsule(array_of(self), max_version.ptr()));
      },
      nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(), "dl_device"_a = nb::none(),
      "copy"_a = nb::none());
}

nb::object forward(ForwardingArray& array, nb::kwargs const& kwargs) {
  array.check_open();
  return array.tensor.attr("__dlpack__")(**kwargs);
}

}  // namespace

NB_MODULE(nanobind_peer, m) {
  // Memory of other libraries: kept by an object, or inspected during one call.
  nb::class_<KeptArray>(m, "KeptArray").def(nb::init<nb::ndarray<>>());
  m.def("look_at", [](nb::ndarray<> const& array) { return array.data() != nullptr; });

  // The array is its own context manager and writes its own capsules.
  nb::class_<CapsuleArray> capsule_array(m, "CapsuleArray");
  capsule_array.def(nb::init<std::int64_t>())
      .def("nd_array", [](CapsuleArray& self) { return nd_array(self.memory); })
      .def("lease", [](CapsuleArray& self) { return Lease<CapsuleArray>{&self}; }, nb::keep_alive<0, 1>());
  def_session(capsule_array);
  def_capsules(capsule_array);

  // A new lease object for each use.
  nb::class_<Lease<CapsuleArray>> capsule_lease(m, "CapsuleLease");
  def_session(capsule_lease);
  def_capsules(capsule_lease);

  // Both variants again, with the capsules of nanobind's nd-array.
  nb::class_<ForwardingArray> forwarding_array(m, "ForwardingArray");
  forwarding_array.def(nb::init<std::int64_t>())
      .def(
          "lease", [](ForwardingArray& self) { return Lease<ForwardingArray>{&self}; }, nb::keep_alive<0, 1>())
      .def("__dlpack__", forward);
  def_session(forwarding_array);

  nb::class_<Lease<ForwardingArray>> forwarding_lease(m, "ForwardingLease");
  forwarding_lease.def("__dlpack__", [](Lease<ForwardingArray>& self, nb::kwargs const& kwargs) {
    return forward(*self.array, kwargs);
  });
  def_session(forwarding_lease);

  // `__enter__` returns nanobind's nd-array. Shortest, but an export after `__exit__` is not refused.
  nb::class_<YieldingArray>(m, "YieldingArray")
      .def(nb::init<std::int64_t>())
      .def("__enter__",
           [](YieldingArray& self) {
             self.enter();
             return self.tensor;
           })
      .def(
          "__exit__", [](YieldingArray& self, nb::handle, nb::handle, nb::handle) { self.exit(); }, nb::arg().none(),
          nb::arg().none(), nb::arg().none());
}
