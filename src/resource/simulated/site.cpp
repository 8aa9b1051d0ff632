#include "site.hpp"

#include <memarray/resource/simulated_devices.hpp>

#include <cstring>

namespace memarray {
namespace {

// Trivially destroyed: resources are made while threads end, too.
thread_local char site[simulated::site_capacity];

}  // namespace

char const* simulated::current_site() noexcept { return site; }

void testing::detail::set_allocation_site(char const* words) noexcept {
  std::size_t const length = words ? strnlen(words, sizeof site - 1) : 0;
  std::memcpy(site, words ? words : "", length);
  site[length] = '\0';
}

}  // namespace memarray
