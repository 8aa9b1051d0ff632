#include <memarray/base/reports.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

namespace memarray::detail {
ForkLockGuard StreamDependencies::guard() noexcept {
  return {_lock, [this] {
            abandon(_writes);
            abandon(_reads);
            abandon(_lease_streams);
            abandon(_escaped);
          }};
}

StreamDependencies::Events StreamDependencies::events_before(BoundStream const* bound_stream, Use use) {
  auto const is_own = [&](PendingWork const& other) { return bound_stream && other.bound_stream.is(*bound_stream); };
  Events events;
  auto const locked = guard();
  events.reserve(_writes.size() + _reads.size());
  bool const is_behind = std::any_of(_reads.begin(), _reads.end(),
                                     [&](Entry const& read) { return read.is_behind_writes && is_own(read.use); });
  if (!is_behind)
    for (PendingWork const& write : _writes)
      if (write.event && !is_own(write)) events.push_back(write.event);
  if (use == Use::write)
    for (Entry const& read : _reads)
      if (read.use.event && !is_own(read.use)) events.push_back(read.use.event);
  return events;
}

// Records ends that could not be recorded earlier.
void StreamDependencies::find_ends() {
  for (;;) {
    std::optional<BoundStream> lost;
    {
      auto const locked = guard();
      for (PendingWork const& write : _writes)
        if (write.is_unknown) lost = write.bound_stream;
      for (Entry const& read : _reads)
        if (read.use.is_unknown) lost = read.use.bound_stream;
    }
    if (!lost) return;
    testing::detail::WaitSite const site("work whose end was not known");
    PendingWork const end =
        lost->lasting ? end_of(*lost, *_memory) : PendingWork{*lost, nullptr, !detail::synchronize(lost->context)};
    if (end.is_unknown) throw_last_error("waiting for work on memory that it uses");
    auto const locked = guard();
    auto const found = [&](PendingWork& use) {
      if (!use.is_unknown || !is_same_now(use.bound_stream, *lost)) return;
      use.event = end.event;
      use.is_unknown = false;
    };
    for (PendingWork& write : _writes) found(write);
    for (Entry& read : _reads) found(read.use);
  }
}

void StreamDependencies::order(BoundStream const& bound_stream, Use use, char const* site) {
  // Another thread's stream cannot be named here: the caller's work goes into its own.
  if (bound_stream.is_another_threads()) return synchronize(use, site);
  find_ends();
  Events const events = events_before(&bound_stream, use);
  for (EventHandle const& event : events) wait(bound_stream, event, site);
  // Under a write lease, only its holder, or work on its behalf, calls this.
  for (BoundStream const& entry : streams_leased_for_writing(&bound_stream))
    wait_for_now(bound_stream, entry, *_memory, "a lease's next work, after its other streams");
  if (use == Use::write || events.empty() || !bound_stream.lasting) return;
  try {
    auto const locked = guard();
    _reads.push_back({{bound_stream, nullptr}, true});
  } catch (std::bad_alloc const&) {
    // The next use waits again.
  }
}

void StreamDependencies::synchronize(Use use, char const* site) {
  testing::detail::WaitSite const named(site);
  find_ends();
  Events events = events_before(nullptr, use);
  for (BoundStream const& entry : streams_leased_for_writing(nullptr)) {
    PendingWork now = end_of(entry, *_memory);
    if (now.is_unknown) throw_last_error(site);
    if (now.event) events.push_back(std::move(now.event));
  }
  if (events.empty()) return;
  bool blocked = false;
  for (EventHandle const& event : events) {
    if (std::optional<bool> const over = query(event); over && *over) continue;
    blocked = true;
    if (!memarray::synchronize(event)) throw_last_error(site);
  }
  forget(events);
  if (blocked) report_wait(site);
}

void StreamDependencies::forget(Events const& over) noexcept {
  auto const is_over = [&](PendingWork const& use) { return std::ranges::find(over, use.event) != over.end(); };
  try {
    // These copies outlive the lock: a stream's last handle may call into Python.
    std::vector<PendingWork> const kept = all();
    auto const locked = guard();
    std::erase_if(_writes, is_over);
    std::erase_if(_reads, [&](Entry const& read) { return is_over(read.use); });
  } catch (std::bad_alloc const&) {  // they stay recorded
  }
}

std::vector<BoundStream> StreamDependencies::streams_leased_for_writing(BoundStream const* but) {
  std::vector<BoundStream> streams;
  auto const locked = guard();
  for (LeaseStream const& entry : _lease_streams)
    if (entry.use == Use::write && entry.is_used && !(but && is_same_now(entry.bound_stream, *but)))
      streams.push_back(entry.bound_stream);
  return streams;
}

void StreamDependencies::begin_after(BoundStream const& bound_stream, char const* site) {
  PendingWork const end = end_of(bound_stream, *_memory);
  if (end.is_unknown) throw_last_error(site);
  remember({&end, 1}, Use::write);
  auto const locked = guard();
  _writes_were_before = true;
}

StreamDependencies::Lease StreamDependencies::open_lease(BoundStream const& own, Use use) {
  static constinit std::atomic<Lease> next{1};
  Lease const lease = next.fetch_add(1, std::memory_order_relaxed);
  auto const locked = guard();
  _lease_streams.push_back({lease, own, use, false, true});
  return lease;
}

bool StreamDependencies::export_to(Lease lease, BoundStream const* bound_stream, bool known) {
  std::vector<BoundStream> others;
  std::optional<BoundStream> target;
  Use use = Use::read;
  {
    auto const locked = guard();
    for (LeaseStream const& entry : _lease_streams) {
      if (entry.lease != lease) continue;
      if (!target) target = bound_stream ? *bound_stream : entry.bound_stream;  // the first is the lease's own
      use = entry.use;
      if (entry.is_used && use == Use::read && !is_same_now(entry.bound_stream, *target))
        others.push_back(entry.bound_stream);
    }
  }
  if (!target) return false;
  order(*target, use,
        use == Use::read ? "an export for reading, after the writer" : "an export for writing, after all users");
  // `order` already did this under a write lease.
  for (BoundStream const& other : others)
    wait_for_now(*target, other, *_memory, "an export, after the lease's other streams");
  auto const locked = guard();
  LeaseStream* own = nullptr;
  for (LeaseStream& entry : _lease_streams) {
    if (entry.lease != lease) continue;
    if (!own) own = &entry;
    if (!is_same_now(entry.bound_stream, *target)) continue;
    entry.is_used = true;
    entry.is_known = entry.is_known && known;
    return true;
  }
  if (!own) return false;
  _lease_streams.push_back({lease, *target, use, true, known});
  return true;
}

std::optional<BoundStream> StreamDependencies::stream_of(Lease lease) {
  auto const locked = guard();
  for (LeaseStream const& entry : _lease_streams)
    if (entry.lease == lease) return entry.bound_stream;
  return std::nullopt;
}

void StreamDependencies::export_escaped(BoundStream const& bound_stream, Use use, bool known) {
  order(bound_stream, use, "an export of an escaped view, after all users");
  escaped({0, bound_stream, use, true, known});
}

bool StreamDependencies::export_for_writer() {
  Lease lease = 0;
  {
    auto const locked = guard();
    for (LeaseStream const& entry : _lease_streams)
      if (entry.use == Use::write) lease = entry.lease;
  }
  return lease != 0 && export_to(lease, nullptr, false);
}

void StreamDependencies::close_lease(Lease lease, bool alive) noexcept {
  // One by one, as nothing may fail. The ends count as one writer's.
  std::vector<PendingWork> ends;
  Use use = Use::read;
  for (bool more = true; more;) {
    std::optional<LeaseStream> entry;
    {
      auto const locked = guard();
      auto const found = std::ranges::find(_lease_streams, lease, &LeaseStream::lease);
      more = found != _lease_streams.end();
      if (more) {
        entry = std::move(*found);
        _lease_streams.erase(found);
      }
    }
    if (!entry || !entry->is_used) continue;
    use = entry->use;
    PendingWork const end = end_of(entry->bound_stream, *_memory);
    if (alive) escaped(*entry);
    try {
      if (end.event || end.is_unknown) ends.push_back(end);
    } catch (std::bad_alloc const&) {
      wait_unrecorded(end);
    }
  }
  if (!ends.empty()) remember(ends, use);
}

void StreamDependencies::submitted(std::span<PendingWork const> ends, Use use) noexcept {
  remember(ends, use);
  if (use == Use::read) hold_back_escaped(ends);
  // Later work under a write lease waits for this work.
  for (PendingWork const& end : ends) {
    if (!end.event) continue;
    try {
      for (BoundStream const& entry : streams_leased_for_writing(&end.bound_stream))
        hold_back(entry, end.event, "a lease's streams, after its kernel");
    } catch (...) {
      static_cast<void>(end_now(end.bound_stream.context));
    }
  }
}

void StreamDependencies::hold_back_escaped(std::span<PendingWork const> ends) noexcept {
  std::vector<BoundStream> streams;
  bool anywhere = false;
  try {
    auto const locked = guard();
    if (!_escaped_writable) return;
    anywhere = _escaped_anywhere;
    if (!anywhere) streams = _escaped;
  } catch (std::bad_alloc const&) {
    anywhere = true;
  }
  for (PendingWork const& end : ends) {
    if (!end.event) continue;
    try {
      for (BoundStream const& bound_stream : streams)
        if (!bound_stream.is(end.bound_stream))
          hold_back(bound_stream, end.event, "streams of escaped views, before what they write later");
      if (!anywhere) continue;
      wait_here(end.event, "work that reads what escaped views may write later, in streams that are not known");
      report_blocking("the caller waited for work that reads: an escaped view may be written in unknown streams");
    } catch (...) {
      static_cast<void>(end_now(end.bound_stream.context));
    }
  }
}

void StreamDependencies::remember(std::span<PendingWork const> ends, Use use) noexcept {
  // Replaced entries, destroyed without the lock.
  std::vector<PendingWork> writes;
  std::vector<Entry> reads;
  bool many = false;
  try {
    for (PendingWork const& end : ends)
      if (end.event || end.is_unknown) writes.push_back(end);
    auto const locked = guard();
    if (use == Use::write) {
      writes.swap(_writes);
      _writes_were_before = false;
      reads.swap(_reads);
    } else {
      for (PendingWork& end : writes) {
        auto const known = std::find_if(_reads.begin(), _reads.end(),
                                        [&](Entry const& read) { return read.use.bound_stream.is(end.bound_stream); });
        if (known == _reads.end())
          _reads.push_back({end, true});
        else
          std::swap(known->use, end);
      }
      many = _reads.size() > _kept_reads;
    }
  } catch (std::bad_alloc const&) {
    testing::detail::WaitSite const site(not_recorded);
    for (PendingWork const& end : ends)
      if (end.event ? !memarray::synchronize(end.event) : end.is_unknown) static_cast<void>(end_now(end.bound_stream));
    clear_last_error();
    report_blocking("there was no memory to record work on a stream, so it was waited for");
  }
  if (many) forget_ended_reads();
}

void StreamDependencies::forget_ended_reads() noexcept {
  try {
    Events events;
    for (PendingWork const& use : all())
      if (use.event && query(use.event).value_or(false)) events.push_back(use.event);
    forget(events);
    auto const locked = guard();
    _kept_reads = std::max<std::size_t>(least_kept_reads, 2 * _reads.size());
  } catch (std::bad_alloc const&) {  // they stay recorded
  }
  clear_last_error();
}

void StreamDependencies::escaped(LeaseStream const& entry) noexcept {
  auto const locked = guard();
  _escaped_writable = _escaped_writable || entry.use == Use::write;
  // A stream that its handle does not own may end before the views.
  _escaped_anywhere = _escaped_anywhere || !entry.is_known || !entry.bound_stream.lasting;
  if (_escaped_anywhere) return;
  for (BoundStream const& known : _escaped)
    if (known.is(entry.bound_stream)) return;
  try {
    _escaped.push_back(entry.bound_stream);
  } catch (std::bad_alloc const&) {
    _escaped_anywhere = true;
  }
}

bool StreamDependencies::fence_escaped(Use before, bool alive) noexcept {
  std::vector<BoundStream> streams;
  bool anywhere = false;
  Use use = Use::read;
  {
    auto const locked = guard();
    if (_escaped.empty() && !_escaped_anywhere) return true;
    if (before == Use::read && !_escaped_writable) return true;
    anywhere = _escaped_anywhere;
    use = _escaped_writable ? Use::write : Use::read;
    if (!alive) {
      streams.swap(_escaped);
      _escaped_anywhere = false;
      _escaped_writable = false;
    } else {
      try {
        streams = _escaped;
      } catch (std::bad_alloc const&) {
        anywhere = true;
      }
    }
  }
  if (!anywhere) {
    for (BoundStream const& bound_stream : streams) fence_one(bound_stream, use);
    return true;
  }
  testing::detail::WaitSite const site("escaped views in unknown streams");
  if (!detail::synchronize(_memory->context())) {
    auto const locked = guard();
    _escaped_anywhere = true;
    _escaped_writable = _escaped_writable || use == Use::write;
    return false;
  }
  report_blocking("the device was synchronized: escaped views were used in unknown streams");
  return true;
}

void StreamDependencies::fence_one(BoundStream const& bound_stream, Use use) noexcept {
  PendingWork const end = end_of(bound_stream, *_memory);
  if (!end.event && !end.is_unknown) return;
  try {
    auto const locked = guard();
    if (use == Use::write) {
      // This write and recorded reads are unordered.
      for (Entry& read : _reads) read.is_behind_writes = false;
      _writes.push_back(end);
      _writes_were_before = false;
    } else {
      _reads.push_back({end, false});
    }
    return;
  } catch (std::bad_alloc const&) {
  }
  wait_unrecorded(end);
}

bool StreamDependencies::is_unused() noexcept {
  auto const locked = guard();
  auto const has_ended = [](Entry const& read) { return !read.use.event && !read.use.is_unknown; };
  return (_writes.empty() || _writes_were_before) && _escaped.empty() && !_escaped_anywhere &&
         std::ranges::all_of(_reads, has_ended);
}

std::vector<PendingWork> StreamDependencies::all() {
  auto const locked = guard();
  std::vector<PendingWork> all = _writes;
  for (Entry const& read : _reads) all.push_back(read.use);
  return all;
}

}  // namespace memarray::detail
