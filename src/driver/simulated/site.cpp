#include "site.hpp"

#include <memarray/driver/simulated_devices.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace memarray {
namespace {

// Trivially destroyed: resources are also created while threads exit.
thread_local char site[simulated::site_capacity];
thread_local char const* wait_site = "elsewhere";

}  // namespace

char const* simulated::current_site() noexcept { return site; }
char const* simulated::current_wait_site() noexcept { return wait_site; }

testing::detail::AllocationOwner::AllocationOwner(std::string_view owner) noexcept : _length(std::strlen(site)) {
  auto const append = [](std::string_view words) {
    std::size_t const have = std::strlen(site);
    std::size_t const length = std::min(words.size(), sizeof site - 1 - have);
    std::memcpy(site + have, words.data(), length);
    site[have + length] = '\0';
  };
  if (_length > 0) append(" for ");
  append(owner);
}
testing::detail::AllocationOwner::~AllocationOwner() { site[_length] = '\0'; }

testing::detail::WaitSite::WaitSite(char const* words) noexcept : _before(std::exchange(wait_site, words)) {}
testing::detail::WaitSite::~WaitSite() { wait_site = _before; }

void testing::detail::set_allocation_site(char const* words) noexcept {
  std::size_t const length = words ? strnlen(words, sizeof site - 1) : 0;
  std::memcpy(site, words ? words : "", length);
  site[length] = '\0';
}

}  // namespace memarray
