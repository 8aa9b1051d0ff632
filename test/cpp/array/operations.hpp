#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "array_test.hpp"

// The list of operations on arrays: test/architecture/test_cpp_operations.py finds each public name among them.
namespace memarray::test::operations {

using Array = MemArray<float, 2>;

constexpr int missing_device = 77;

/// An operation on an array of shape {3, 4}.
struct Operation {
  char const* name;  ///< begins with a public name, which `run` calls
  std::function<void(Array&)> run;
  std::array<std::int64_t, 2> shape{3, 4};  ///< of an array that it accepts
};

/// Operations that write, without a lock id.
inline std::vector<Operation> writes() {
  return {
      {"write", [](Array& a) { a.write({0, 1}, 9.0F); }},
      {"fill", [](Array& a) { a.fill(9); }},
      {"copy_from", [](Array& a) { a.copy_from(Array({3, 4}).view()); }},
      {"ptr", [](Array& a) { *a.ptr() = 9; }},
      {"get_indexer", [](Array& a) { a.get_indexer()[{0, 0}] = 9; }},
      {"host_view", [](Array& a) { static_cast<void>(a.host_view()); }},
      {"throw_invalid_lock_access", [](Array& a) { a.throw_invalid_lock_access(-1); }},
      {"resize", [](Array& a) { a.resize({5, 5}); }},
      {"resize to the same", [](Array& a) { a.resize(a.get_shape()); }},
      {"move_memory to where it is", [](Array& a) { a.move_memory(kDLCPU, 0, 0); }},
      {"move_memory elsewhere", [](Array& a) { a.move_memory(kDLCUDA, 0, missing_device); }},
      {"enter", [](Array& a) { a.enter(5); }},
      {"exchange",
       [](Array& a) {
         Array other({3, 4});
         a.exchange(other);
       }},
      {"exchange with it",
       [](Array& a) {
         Array other({3, 4});
         other.exchange(a);
       }},
      {"WriteLease", [](Array& a) { WriteLease const lease(a); }},
      {"WriteLease, discarding", [](Array& a) { WriteLease const lease(a, {.discard = true}); }},
      {"leases, write", [](Array& a) { static_cast<void>(leases(write(a))); }},
      {"leases, overwrite", [](Array& a) { static_cast<void>(leases(overwrite(a))); }},
      {"for_each_index of it",
       [](Array& a) { for_each_index(a, default_stream(), [](float& e, auto const&) { e = 9; }); }},
      {"for_each_index, write",
       [](Array& a) { for_each_index({3, 4}, default_stream(), [](auto const& i, auto x) { x[i] = 9; }, write(a)); }},
      {"for_each_index, overwrite",
       [](Array& a) {
         for_each_index({3, 4}, default_stream(), [](auto const& i, auto x) { x[i] = 9; }, overwrite(a));
       }},
      {"for_each_index, update",
       [](Array& a) { for_each_index({3, 4}, default_stream(), [](auto const&, float& x) { x = 9; }, update(a)); }},
      {"add_index_tuple", [](Array& a) { add_index_tuple(a); }},
      {"exclusive_scan into it",
       [](Array& a) {
         Array const other({3, 4});
         static_cast<void>(exclusive_scan(other, a, default_stream()));
       }},
      {"inclusive_scan into it",
       [](Array& a) {
         Array const other({3, 4});
         inclusive_scan(other, a, default_stream());
       }},
      {"sort_by_key of its rows",
       [](Array& a) {
         MemArray<int, 1> keys({3});
         sort_by_key(keys, a, default_stream());
       }},
      {"transform_reduce, update",
       [](Array& a) {
         static_cast<void>(transform_reduce(
             {3, 4}, default_stream(), 0.0F, plus{}, [](auto const&, float& x) { return x = 9; }, update(a)));
       }},
      {"transform_reduce_into it",
       [](Array& a) {
         MemArray<float, 1> const other({2});
         transform_reduce_into(
             a, {2}, default_stream(), 9, plus{}, [](auto const& i, auto x) { return x[i]; }, read(other));
       },
       {1, 1}},
      {"transform_reduce_into it, of held arrays",
       [](Array& a) {
         MemArray<float, 1> const other({2});
         auto held = hold(default_stream(), read(other));
         held.transform_reduce_into(a, {2}, 9, plus{}, [](auto const& i, auto x) { return x[i]; });
       },
       {1, 1}},
      {"hold, write", [](Array& a) { static_cast<void>(hold(default_stream(), write(a))); }},
      {"get_dlpack_tensor, writable", [](Array& a) { static_cast<void>(a.get_dlpack_tensor(true, 12345)); }},
  };
}

/// Operations that read, without a lock id.
inline std::vector<Operation> reads() {
  return {
      {"operator() of an element", [](Array& a) { static_cast<void>(a({0, 1})); }},
      {"ptr", [](Array& a) { static_cast<void>(std::as_const(a).ptr()); }},
      {"get_indexer", [](Array& a) { static_cast<void>(std::as_const(a).get_indexer()); }},
      {"host_view", [](Array& a) { static_cast<void>(std::as_const(a).host_view()); }},
      {"MemArray, copied", [](Array& a) { MemArray const copy(a); }},
      {"operator= of a copy",
       [](Array& a) {
         Array copy({1, 1});
         copy = a;
       }},
      {"ReadLease", [](Array& a) { ReadLease const lease(a); }},
      {"leases, read", [](Array& a) { static_cast<void>(leases(read(a))); }},
      {"view", [](Array& a) { static_cast<void>(a.view()); }},
      {"sum", [](Array& a) { static_cast<void>(sum(a, default_stream())); }},
      {"reduce", [](Array& a) { static_cast<void>(reduce(a, default_stream(), 0.0F, plus{})); }},
      {"min", [](Array& a) { static_cast<void>(min(a, default_stream())); }},
      {"max", [](Array& a) { static_cast<void>(max(a, default_stream())); }},
      {"minmax", [](Array& a) { static_cast<void>(minmax(a, default_stream())); }},
      {"argmin", [](Array& a) { static_cast<void>(argmin(a, default_stream())); }},
      {"argmax", [](Array& a) { static_cast<void>(argmax(a, default_stream())); }},
      {"dot", [](Array& a) { static_cast<void>(dot(a, a, default_stream())); }},
      {"for_each_index, read",
       [](Array& a) {
         for_each_index({3, 4}, default_stream(), [](auto const& i, auto x) { static_cast<void>(x[i]); }, read(a));
       }},
      {"transform_reduce of it",
       [](Array& a) {
         static_cast<void>(transform_reduce(
             {3, 4}, default_stream(), 0.0F, plus{}, [](auto const& i, auto x) { return x[i]; }, read(a)));
       }},
      {"exclusive_scan of it",
       [](Array& a) {
         Array other({3, 4});
         static_cast<void>(exclusive_scan(a, other, default_stream()));
       }},
      {"inclusive_scan of it",
       [](Array& a) {
         Array other({3, 4});
         inclusive_scan(a, other, default_stream());
       }},
      {"hold, read", [](Array& a) { static_cast<void>(hold(default_stream(), read(a))); }},
      {"get_dlpack_tensor, read-only", [](Array& a) { static_cast<void>(a.get_dlpack_tensor(true)); }},
  };
}

/// Operations that neither read nor write elements.
inline std::vector<Operation> neutral() {
  return {
      {"get_shape", [](Array& a) { static_cast<void>(a.get_shape()); }},
      {"get_size", [](Array& a) { static_cast<void>(a.get_size()); }},
      {"size", [](Array& a) { static_cast<void>(a.size()); }},
      {"get_device_id", [](Array& a) { static_cast<void>(a.get_device_id()); }},
      {"get_on_device", [](Array& a) { static_cast<void>(a.get_on_device()); }},
      {"get_lock_id", [](Array& a) { static_cast<void>(a.get_lock_id()); }},
      {"get_dlpack_device", [](Array& a) { static_cast<void>(a.get_dlpack_device()); }},
      {"is_foreign", [](Array& a) { static_cast<void>(a.is_foreign()); }},
      {"escaped_views", [](Array& a) { a.escaped_views(a.escaped_views()); }},
      {"state", [](Array& a) { static_cast<void>(a.state()); }},
      {"state_ptr", [](Array& a) { Array const other = Array::share(a.state_ptr()); }},
      {"take_state",
       [](Array& a) {
         Array other = Array::share(a.state_ptr());
         static_cast<void>(other.take_state());
       }},
      {"swap to and fro",
       [](Array& a) {
         Array other({1, 1});
         a.swap(other);
         swap(a, other);
       }},
      {"recover", [](Array& a) { static_cast<void>(recover(a)); }},
  };
}

}  // namespace memarray::test::operations
