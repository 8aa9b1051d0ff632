#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace memarray::simulated {

class Session;

[[nodiscard]] std::uint32_t next_session_number() noexcept;
void add_session(std::shared_ptr<Session> const& session);
void remove_session(std::uint32_t number) noexcept;
/// Returns null if the session has ended or is a parent process's.
[[nodiscard]] std::shared_ptr<Session> find_session(std::uint32_t number);
[[nodiscard]] std::shared_ptr<Session> find_session_of_memory(std::uintptr_t address);
/// Returns the session of the thread's current context, else of the innermost block, else null. Drops current contexts
/// of ended sessions.
[[nodiscard]] std::shared_ptr<Session> find_session_here();
/// True in a forked child without sessions, whose parent had some.
[[nodiscard]] bool is_bare_child() noexcept;

/// Installs the session's driver process-wide.
void open_block(std::shared_ptr<Session> const& session);
/// Restores the driver from before the block, unless blocks within it are open.
void close_block(Session const& session) noexcept;

void note_host_memory(std::uintptr_t begin, std::size_t bytes, std::uint32_t session);
void forget_host_memory(std::uintptr_t begin) noexcept;

}  // namespace memarray::simulated
