#include <memarray/memarray.hpp>

#include <cstdint>
#include <cstdio>

// Fills an array in a kernel, reads it through a lease and sums it; 0 if all is as it should be.
int main() {
  memarray::MemArray<double, 2> a({4, 3});
  memarray::for_each_index(a, memarray::default_stream(),
                           [] MEMARRAY_HD(double& element, cuda::std::array<std::int64_t, 2> at) {
                             element = static_cast<double>(10 * at[0] + at[1]);
                           });
  bool refused = false;
  {
    memarray::ReadLease lease(a);
    try {
      a.fill(0);
    } catch (memarray::LockError const&) {
      refused = true;
    }
  }
  double const total = memarray::sum(a, memarray::default_stream());
  std::printf("a(2, 1) = %g, sum = %g, refused = %d\n", a({2, 1}), total, refused);
  return a({2, 1}) == 21 && total == 192 && refused ? 0 : 1;
}
