#include "kernels_of.hpp"

#include <complex>

namespace kernels {

template Kernels const& kernels_of<double>(int);
#if KERNELS_OF_EVERY_DTYPE
template Kernels const& kernels_of<memarray::float16>(int);
template Kernels const& kernels_of<memarray::bfloat16>(int);
template Kernels const& kernels_of<float>(int);
template Kernels const& kernels_of<std::complex<float>>(int);
template Kernels const& kernels_of<std::complex<double>>(int);
#endif

}  // namespace kernels
