#include <memarray/memarray.hpp>

int main() {
  memarray::MemArray<float, 2> array({3, 4});
  array.fill(2);
  return memarray::sum(array, memarray::default_stream()) == 24 ? 0 : 1;
}
