#pragma once

// Iterates over every shipped dtype and rank. Includes installed headers only.

#include <memarray/memarray.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Under sanitizers each instance takes seconds to compile, so a few represent all except in the nightly run.
#if !defined(MEMARRAY_TEST_EVERY_INSTANCE)
#define MEMARRAY_TEST_EVERY_INSTANCE 1
#endif

namespace memarray::test {

#define MEMARRAY_TEST_RANKS(type, name, code, bits) \
  MemArray<type, 1>, MemArray<type, 2>, MemArray<type, 3>, MemArray<type, 4>, MemArray<type, 5>, MemArray<type, 6>,
// Takes the type that the list's trailing comma requires.
template <class... Arrays>
struct List {};
using WithEnd = List<MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_TEST_RANKS) void*>;
#undef MEMARRAY_TEST_RANKS

template <class T>
struct IsArray : std::false_type {};
template <class T, int n>
struct IsArray<MemArray<T, n>> : std::true_type {};

template <class T>
constexpr bool stands_for_others =
    std::is_same_v<T, bool> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, float16> ||
    std::is_same_v<T, double> || std::is_same_v<T, std::complex<float>>;
template <class A>
constexpr bool is_tested = MEMARRAY_TEST_EVERY_INSTANCE || (stands_for_others<typename A::value_type> &&
                                                            (A::NDIM == 1 || A::NDIM == 3 || A::NDIM == 6));
constexpr int tested_instances = MEMARRAY_TEST_EVERY_INSTANCE ? 15 * 6 : 5 * 3;

template <class Run, class... Arrays>
void for_each_instance(List<Arrays...> const*, Run const& run) {
  auto const one = [&]<class A>(std::type_identity<A> instance) {
    if constexpr (!IsArray<A>::value) {
      return;
    } else if constexpr (is_tested<A>) {
      run(instance);
    }
  };
  (one(std::type_identity<Arrays>()), ...);
}
/// Calls `run(std::type_identity<MemArray<T, ndim>>())` for each instance.
template <class Run>
void for_each_instance(Run const& run) {
  for_each_instance(static_cast<WithEnd const*>(nullptr), run);
}

/// Returns n in the element type, as far as the type can represent it.
template <class T>
T value(std::int64_t n) {
  return static_cast<T>(static_cast<float>(n));
}

}  // namespace memarray::test
