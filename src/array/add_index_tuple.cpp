#include <memarray/array/add_index_tuple.hpp>
#include <memarray/base/errors.hpp>

#include <string>

namespace memarray::detail {
namespace {

template <class T, int ndim>
void run(State& state) {
  auto array = MemArray<T, ndim>::share(StatePtr::share(&state));
  for_each_index(array, default_stream(), AddIndex{});
}

template <class T>
void run_any_rank(State& state) {
  switch (state.ndim()) {
    case 1: return run<T, 1>(state);
    case 2: return run<T, 2>(state);
    case 3: return run<T, 3>(state);
    case 4: return run<T, 4>(state);
    case 5: return run<T, 5>(state);
    case 6: return run<T, 6>(state);
    default: throw UnsupportedTypeError("add_index_tuple is compiled for 1 to 6 dimensions, not for " + state.describe());
  }
}

}  // namespace

void add_index_tuple(State& state, std::int64_t stream) {
  if (stream < -1) throw ValueError("stream is a CUDA stream as an integer, or 0, 1, 2 or -1");
  DType const& dtype = state.dtype();
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return run_any_rank<type>(state);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("add_index_tuple is not compiled for " + state.describe());
}

bool is_shipped(DType const& dtype) noexcept { return find_dtype(dtype.name_view()) != nullptr; }

}  // namespace memarray::detail
