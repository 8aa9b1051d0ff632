#include <memarray/base/hooks.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/view/view_stream.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/state/lease.hpp>

#include <optional>
#include <utility>

namespace memarray::detail {
namespace {

bool is_dense(StridedElements const& elements) noexcept {
  return elements.layout.is_contiguous(elements.dtype.itemsize);
}

std::size_t bytes_of(StridedElements const& elements) noexcept {
  return static_cast<std::size_t>(elements.layout.size()) * elements.dtype.itemsize;
}

/// Submits a job without a kernel (builds without nvcc have none). Returns false if it needs one.
bool submit_plainly(StridedJob const& job, BoundStream const& bound_stream, Block& target, Block* source) {
  if (!is_dense(job.target)) return false;
  auto const offset_in = [](StridedElements const& elements, Block const& block) {
    return static_cast<std::size_t>(elements.data - block.data());
  };
  if (job.kind == StridedJob::Kind::fill) {
    fill(target, offset_in(job.target, target), job.element.data(), job.element.size(),
         static_cast<std::size_t>(job.target.layout.size()), bound_stream);
    return true;
  }
  bool const moves = source && job.kind == StridedJob::Kind::copy && job.source.dtype == job.target.dtype;
  if (!moves || !is_dense(job.source) || job.target.data != target.data()) return false;
  copy(target, *source, bytes_of(job.target), bound_stream, CopyMode::async, offset_in(job.source, *source));
  return true;
}

}  // namespace

ViewStreamPtr view_stream(Block& block, StreamDependencies::Lease lease) {
  std::optional<BoundStream> bound_stream = block.uses()->stream_of(lease);
  if (!bound_stream) throw_lease_over();
  return std::make_shared<ViewStream>(ViewStream{std::move(*bound_stream), lease});
}

void export_on(Block& block, ViewStream const& stream, BoundStream const& bound_stream, Use use, bool known) {
  RuntimeRelease const released;
  if (stream.lease != 0 && block.uses()->export_to(stream.lease, &bound_stream, known)) return;
  block.fence(use == Use::write);
  block.uses()->export_escaped(bound_stream, use, known);
}

void submit(StridedJob const& job, BoundStream const& bound_stream, Block& target, Block* source) {
  job.check();
  if (job.target.layout.size() == 0) return;
  RuntimeRelease const released;
  target.fence(true);
  if (source) source->fence(false);
  if (submit_plainly(job, bound_stream, target, source)) return;
  if (source) source->uses()->order(bound_stream, Use::read, "an operation on a view, after the memory's writer");
  target.uses()->order(bound_stream, Use::write, "an operation on a view, after all users of what it writes");
  try {
    job.submit(target.uses()->memory(), bound_stream);
  } catch (...) {
    wait_after_failure(bound_stream, {{target.uses(), Use::write}, {source ? source->uses() : nullptr, Use::read}});
    throw;
  }
  PendingWork const end = end_of(bound_stream, target.uses()->memory());
  if (source) source->uses()->submitted(end, Use::read);
  target.uses()->submitted(end, Use::write);
}

}  // namespace memarray::detail
