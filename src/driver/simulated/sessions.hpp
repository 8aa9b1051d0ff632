#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace memarray::simulated {

class Session;

/// The sessions of this process. In a forked child those of its parent are not known, and none of the parent's locks
/// is touched.
[[nodiscard]] std::uint32_t next_session_number() noexcept;
void add_session(std::shared_ptr<Session> const& session);
void remove_session(std::uint32_t number) noexcept;
/// Null: gone.
[[nodiscard]] std::shared_ptr<Session> find_session(std::uint32_t number);
[[nodiscard]] std::shared_ptr<Session> find_session_of_memory(std::uintptr_t address);
/// Of the calling thread's current context; else of the innermost block; null: there is none.
[[nodiscard]] std::shared_ptr<Session> find_session_here();
/// Whether the process was forked from one that had sessions, and has none of its own.
[[nodiscard]] bool is_bare_child() noexcept;

/// Makes its driver everybody's.
void open_block(std::shared_ptr<Session> const& session);
/// Gives the driver back that was before the block, or, if blocks within it are open, leaves theirs.
void close_block(Session const& session) noexcept;

void note_host_memory(std::uintptr_t begin, std::size_t bytes, std::uint32_t session);
void forget_host_memory(std::uintptr_t begin) noexcept;

}  // namespace memarray::simulated
