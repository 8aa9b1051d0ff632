#include "foreign_bools.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/memory/block_export.hpp>
#include <memarray/detail/view/adopt.hpp>

#include <string>
#include <utility>

namespace memarray::detail {

char const* why_not_adopted(ViewCore const& view) {
  if (!view.is_open()) return "it is closed";
  if (view.layout().ndim() == 0) return "an array has at least one dimension";
  if (!view.writable()) return "it is read-only";
  if (!view.is_contiguous()) return "it is not dense in C order";
  if (has_invalid_bools(view)) return "it has bools that are neither 0 nor 1";
  return nullptr;
}

ArrayStatePtr adopt_copy(ViewCore const& view) {
  ViewCore const copy = view.copy();
  if (char const* const why = why_not_adopted(copy))
    throw BufferError("an array cannot be made of this " + view.describe() + ": " + why);
  return ArrayState::make_from_block(copy.dtype(), copy.layout().shape(), BlockPtr::share(&copy.block()));
}

ArrayStatePtr adopt(ViewCore const& view) {
  view.check_open();
  if (char const* const why = why_not_adopted(view))
    throw BufferError("an array cannot adopt this " + view.describe() + ": " + why + "; adopt a copy() of it");
  // The view may cover only part of its block.
  auto* const kept = new BlockExport(view.memory());
  Block::KeepAlive const keep_alive{kept, [](void* memory) noexcept { delete static_cast<BlockExport*>(memory); }};
  BlockPtr block = Block::adopt_part(view.block(), view.data(), view.bytes(), keep_alive);
  return ArrayState::make_from_block(view.dtype(), view.layout().shape(), std::move(block));
}

}  // namespace memarray::detail
