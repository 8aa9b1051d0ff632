#pragma once

#include <memarray/base/config.hpp>

#include <cstdint>

namespace memarray::detail {

/// Returns the calling thread's number, from 1. Unlike `std::thread::id`, no later thread has it again.
[[nodiscard]] MEMARRAY_API std::uint64_t this_thread_number() noexcept;

}  // namespace memarray::detail
