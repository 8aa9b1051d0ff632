#include "tracers.hpp"

namespace tracers {

namespace {

struct Drift {
  double dx;

  template <class Indices>
  MEMARRAY_HD void operator()(double& element, Indices const& at) const {
    element += at[1] == 0 ? dx : 0.0;
  }
};

}  // namespace

void Cloud::drift(double dx) { memarray::for_each_index(_field, memarray::default_stream(), Drift{dx}); }

}  // namespace tracers
