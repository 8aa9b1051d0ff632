#pragma once

#include <memarray/driver/driver_functions.hpp>

namespace memarray::simulated {

class Session;

/// Implement `cuGetErrorName` and `cuGetErrorString` without a session.
cu::Result name_error(cu::Result error, char const** name) noexcept;
cu::Result describe_error(cu::Result error, char const** text) noexcept;

namespace emulated {

cu::Result cuGetErrorName(Session& session, cu::Result error, char const** name);
cu::Result cuGetErrorString(Session& session, cu::Result error, char const** text);

}  // namespace emulated
}  // namespace memarray::simulated
