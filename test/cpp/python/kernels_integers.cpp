#include "kernels_of.hpp"

#include <cstdint>

namespace kernels {

template Kernels const& kernels_of<std::int32_t>(int);
#if KERNELS_OF_EVERY_DTYPE
template Kernels const& kernels_of<bool>(int);
template Kernels const& kernels_of<std::int8_t>(int);
template Kernels const& kernels_of<std::int16_t>(int);
template Kernels const& kernels_of<std::int64_t>(int);
template Kernels const& kernels_of<std::uint8_t>(int);
template Kernels const& kernels_of<std::uint16_t>(int);
template Kernels const& kernels_of<std::uint32_t>(int);
template Kernels const& kernels_of<std::uint64_t>(int);
#endif

}  // namespace kernels
