#include "objects.hpp"

#include <atomic>

namespace memarray::detail {
namespace {

std::atomic<ObjectBridge const*> installed{nullptr};

}  // namespace

void set_object_bridge(ObjectBridge const& bridge) noexcept { installed.store(&bridge, std::memory_order_release); }

ObjectBridge const* object_bridge() noexcept { return installed.load(std::memory_order_acquire); }

}  // namespace memarray::detail
