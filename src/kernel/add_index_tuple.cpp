#include "strided/add_index_rows.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/launch_host.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/kernel/add_index_tuple.hpp>
#include <memarray/kernel/for_each_index.hpp>

#include <optional>

namespace memarray::detail {
namespace {

// For fewer bytes, releasing the interpreter lock is not worth its cost.
constexpr std::size_t release_bytes = std::size_t{1} << 18;

// Well above the size of the caches.
constexpr std::size_t past_caches_bytes = std::size_t{32} << 20;

template <class T, class Index>
void run(RowsPlan const& plan, ExecutionSpace runs, Acquisition const& hold) {
  auto const* const source = reinterpret_cast<T const*>(hold.source());
  auto* const target = reinterpret_cast<T*>(hold.target());
  auto const rows = rows_function<T, Index>();
  if (runs == ExecutionSpace::simulated)
    return launch_emulated(hold.queue(), [=] {
      check_loads(ElementArgument<DeviceElement<T>, false>{reinterpret_cast<DeviceElement<T> const*>(source),
                                                           reinterpret_cast<DeviceElement<T>*>(target)});
      rows(plan, source, target, 0, plan.units);
    });
  std::size_t const bytes = static_cast<std::size_t>(plan.units * plan.block) * sizeof(T);
  std::optional<RuntimeRelease> released;
  if (bytes >= release_bytes) released.emplace();
  run_host(plan.units, bytes, [&](std::int64_t begin, std::int64_t end) { rows(plan, source, target, begin, end); });
}

template <class T>
void run_host_kernel(RowsPlan const& plan, ExecutionSpace runs, Acquisition const& hold) {
  if (plan.fits_32_bits)
    run<T, std::int32_t>(plan, runs, hold);
  else
    run<T, std::int64_t>(plan, runs, hold);
}

}  // namespace

void add_index_tuple(ArrayState& state, StreamChoice const& stream) {
  Acquisition hold(state, AccessMode::update, -1, "add_index_tuple", Acquisition::Option::none, stream);
  Extents const shape = state.extents();
  ExecutionSpace const runs = where_all_are(state);
  if (runs == ExecutionSpace::device) {
    add_index_on_device(state.dtype(), shape, hold.source(), hold.target(), hold.queue());
    return hold.commit();
  }
  RowsPlan plan = plan_rows(shape);
  plan.nontemporal = hold.source() != hold.target() && state.bytes() >= past_caches_bytes;
  bool done = false;
#define MEMARRAY_RUN_IF(type, name, code, bits)     \
  if (!done && state.dtype() == dtype_of<type>()) { \
    run_host_kernel<type>(plan, runs, hold);        \
    done = true;                                    \
  }
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  if (!done) throw UnsupportedTypeError("add_index_tuple is not compiled for " + state.describe());
  hold.commit();
}

bool is_shipped(DType const& dtype) noexcept {
  DType const* const shipped = find_dtype(dtype.name_view());
  return shipped && *shipped == dtype;
}

}  // namespace memarray::detail
