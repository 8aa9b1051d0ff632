#include <memarray/base/reports.hpp>
#include <memarray/detail/memory/stream_uses.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

namespace memarray::detail {
struct StreamUses::Locked {
  explicit Locked(StreamUses& held) noexcept : uses(held) {
    if (uses._lock.lock()) return;
    // A forked child abandons an unfinished change of its parent: it has no driver to query.
    new (&uses._writes) std::vector<StreamUse>();
    new (&uses._reads) std::vector<Entry>();
    new (&uses._lent) std::vector<Lent>();
    new (&uses._escaped) std::vector<Queue>();
  }
  ~Locked() { uses._lock.unlock(); }
  Locked(Locked const&) = delete;
  Locked& operator=(Locked const&) = delete;
  StreamUses& uses;
};

StreamUses::Events StreamUses::events_before(Queue const* queue, Use use) {
  auto const is_own = [&](StreamUse const& other) { return queue && other.queue.is(*queue); };
  Events events;
  Locked const locked(*this);
  events.reserve(_writes.size() + _reads.size());
  bool const is_behind = std::any_of(_reads.begin(), _reads.end(),
                                     [&](Entry const& read) { return read.is_behind_writes && is_own(read.use); });
  if (!is_behind)
    for (StreamUse const& write : _writes)
      if (write.event && !is_own(write)) events.push_back(write.event);
  if (use == Use::write)
    for (Entry const& read : _reads)
      if (read.use.event && !is_own(read.use)) events.push_back(read.use.event);
  return events;
}

// Records the end of work that could not be recorded when it was submitted, and of work submitted after it.
void StreamUses::find_ends() {
  for (;;) {
    std::optional<Queue> lost;
    {
      Locked const locked(*this);
      for (StreamUse const& write : _writes)
        if (write.is_unknown) lost = write.queue;
      for (Entry const& read : _reads)
        if (read.use.is_unknown) lost = read.use.queue;
    }
    if (!lost) return;
    testing::detail::WaitSite const site("work whose end was not known");
    // A stream that its handle does not own may no longer exist.
    StreamUse const end =
        lost->lasting ? end_of(*lost, *_memory) : StreamUse{*lost, nullptr, !detail::synchronize(lost->context)};
    if (end.is_unknown) throw_last_error("waiting for work on memory that it uses");
    auto const is_it = [&](StreamUse const& use) { return use.is_unknown && is_same_now(use.queue, *lost); };
    Locked const locked(*this);
    for (StreamUse& write : _writes)
      if (is_it(write)) write = end;
    for (Entry& read : _reads)
      if (is_it(read.use)) read.use = end;
  }
}

void StreamUses::order(Queue const& queue, Use use, char const* site) {
  find_ends();
  Events const events = events_before(&queue, use);
  for (EventHandle const& event : events) wait(queue, event, site);
  // While there are such streams, only the holder of the write lease, or work on its behalf, calls this.
  for (Queue const& lent : lent_for_writing(&queue))
    wait_for_now(queue, lent, *_memory, "a lease's next work, after its other streams");
  if (use == Use::write || events.empty() || !queue.lasting) return;
  try {
    Locked const locked(*this);
    _reads.push_back({{queue, nullptr}, true});
  } catch (std::bad_alloc const&) {
    // The next use waits again.
  }
}

void StreamUses::synchronize(Use use, char const* site) {
  testing::detail::WaitSite const named(site);
  find_ends();
  Events events = events_before(nullptr, use);
  // On behalf of a write lease, see `order`.
  for (Queue const& lent : lent_for_writing(nullptr)) {
    StreamUse now = end_of(lent, *_memory);
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

void StreamUses::forget(Events const& over) noexcept {
  auto const is_over = [&](StreamUse const& use) { return std::ranges::find(over, use.event) != over.end(); };
  Locked const locked(*this);
  std::erase_if(_writes, is_over);
  std::erase_if(_reads, [&](Entry const& read) { return is_over(read.use); });
}

std::vector<Queue> StreamUses::lent_for_writing(Queue const* but) {
  std::vector<Queue> queues;
  Locked const locked(*this);
  for (Lent const& lent : _lent)
    if (lent.use == Use::write && lent.is_used && !(but && is_same_now(lent.queue, *but))) queues.push_back(lent.queue);
  return queues;
}

void StreamUses::begin_after(Queue const& queue, char const* site) {
  StreamUse const end = end_of(queue, *_memory);
  if (end.is_unknown) throw_last_error(site);
  remember({&end, 1}, Use::write);
  Locked const locked(*this);
  _writes_were_before = true;
}

StreamUses::Lease StreamUses::open_lease(Queue const& own, Use use) {
  static constinit std::atomic<Lease> next{1};
  Lease const lease = next.fetch_add(1, std::memory_order_relaxed);
  Locked const locked(*this);
  _lent.push_back({lease, own, use, false, true});
  return lease;
}

bool StreamUses::lend(Lease lease, Queue const* queue, bool known) {
  std::vector<Queue> others;
  std::optional<Queue> target;
  Use use = Use::read;
  {
    Locked const locked(*this);
    for (Lent const& lent : _lent) {
      if (lent.lease != lease) continue;
      if (!target) target = queue ? *queue : lent.queue;  // the lease's own queue is the first
      use = lent.use;
      if (lent.is_used && use == Use::read && !is_same_now(lent.queue, *target)) others.push_back(lent.queue);
    }
  }
  if (!target) return false;
  order(*target, use,
        use == Use::read ? "lending for reading, after the writer" : "lending for writing, after all users");
  // Under a write lease `order` already did this.
  for (Queue const& other : others) wait_for_now(*target, other, *_memory, "lending, after the lease's other streams");
  Locked const locked(*this);
  Lent* own = nullptr;
  for (Lent& lent : _lent) {
    if (lent.lease != lease) continue;
    if (!own) own = &lent;
    if (!is_same_now(lent.queue, *target)) continue;
    lent.is_used = true;
    lent.is_known = lent.is_known && known;
    return true;
  }
  if (!own) return false;
  _lent.push_back({lease, *target, use, true, known});
  return true;
}

std::optional<Queue> StreamUses::queue_of(Lease lease) {
  Locked const locked(*this);
  for (Lent const& lent : _lent)
    if (lent.lease == lease) return lent.queue;
  return std::nullopt;
}

void StreamUses::lend_kept(Queue const& queue, Use use, bool known) {
  order(queue, use, "lending what a view keeps, after all users");
  escaped({0, queue, use, true, known});
}

bool StreamUses::lend_for_writer() {
  Lease lease = 0;
  {
    Locked const locked(*this);
    for (Lent const& lent : _lent)
      if (lent.use == Use::write) lease = lent.lease;
  }
  return lease != 0 && lend(lease, nullptr, false);
}

void StreamUses::close_lease(Lease lease, bool alive) noexcept {
  // Removes them one by one, because nothing may fail. Records the ends together, so that they count as one owner's.
  std::vector<StreamUse> ends;
  Use use = Use::read;
  for (bool more = true; more;) {
    std::optional<Lent> lent;
    {
      Locked const locked(*this);
      auto const found = std::ranges::find(_lent, lease, &Lent::lease);
      more = found != _lent.end();
      if (more) {
        lent = std::move(*found);
        _lent.erase(found);
      }
    }
    if (!lent || !lent->is_used) continue;
    use = lent->use;
    StreamUse const end = end_of(lent->queue, *_memory);
    if (alive) escaped(*lent);
    try {
      if (end.event || end.is_unknown) ends.push_back(end);
    } catch (std::bad_alloc const&) {
      if (end.event) wait_here(end.event, not_remembered);
    }
  }
  if (!ends.empty()) remember(ends, use);
}

void StreamUses::submitted(std::span<StreamUse const> ends, Use use) noexcept {
  remember(ends, use);
  if (use == Use::read) hold_back_escaped(ends);
  // Under a write lease, later work of its holder and its consumers waits for this work.
  for (StreamUse const& end : ends) {
    if (!end.event) continue;
    try {
      for (Queue const& lent : lent_for_writing(&end.queue))
        hold_back(lent, end.event, "a lease's streams, after its kernel");
    } catch (...) {
      static_cast<void>(end_now(end.queue.context));
    }
  }
}

void StreamUses::hold_back_escaped(std::span<StreamUse const> ends) noexcept {
  std::vector<Queue> queues;
  bool anywhere = false;
  try {
    Locked const locked(*this);
    if (!_escaped_writable) return;
    anywhere = _escaped_anywhere;
    if (!anywhere) queues = _escaped;
  } catch (std::bad_alloc const&) {
    anywhere = true;
  }
  for (StreamUse const& end : ends) {
    if (!end.event) continue;
    try {
      for (Queue const& queue : queues)
        if (!queue.is(end.queue)) hold_back(queue, end.event, "streams of kept views, before what they write later");
      if (!anywhere) continue;
      wait_here(end.event, "work that reads what kept views may write later, in streams that are not known");
      report_blocking("work that reads was waited for: a kept view may be written in streams that are not known");
    } catch (...) {
      static_cast<void>(end_now(end.queue.context));
    }
  }
}

void StreamUses::remember(std::span<StreamUse const> ends, Use use) noexcept {
  // Replaced entries are destroyed without the lock.
  std::vector<StreamUse> writes;
  std::vector<Entry> reads;
  bool many = false;
  try {
    for (StreamUse const& end : ends)
      if (end.event || end.is_unknown) writes.push_back(end);
    Locked const locked(*this);
    if (use == Use::write) {
      writes.swap(_writes);
      _writes_were_before = false;
      reads.swap(_reads);
    } else {
      for (StreamUse& end : writes) {
        auto const known =
            std::find_if(_reads.begin(), _reads.end(), [&](Entry const& read) { return read.use.queue.is(end.queue); });
        if (known == _reads.end())
          _reads.push_back({end, true});
        else
          std::swap(known->use, end);
      }
      many = _reads.size() > _kept_reads;
    }
  } catch (std::bad_alloc const&) {
    // The work cannot be recorded, so wait for it now.
    testing::detail::WaitSite const site(not_remembered);
    for (StreamUse const& end : ends)
      if (end.event ? !memarray::synchronize(end.event) : end.is_unknown) static_cast<void>(end_now(end.queue));
    clear_last_error();
    report_blocking("there was no memory to remember work on a stream, so it was waited for");
  }
  if (many) forget_ended_reads();
}

void StreamUses::forget_ended_reads() noexcept {
  try {
    Events events;
    {
      Locked const locked(*this);
      for (Entry const& read : _reads)
        if (read.use.event) events.push_back(read.use.event);
    }
    std::erase_if(events, [](EventHandle const& event) { return !query(event).value_or(false); });
    forget(events);
    Locked const locked(*this);
    _kept_reads = std::max<std::size_t>(least_kept_reads, 2 * _reads.size());
  } catch (std::bad_alloc const&) {  // they stay recorded
  }
  clear_last_error();
}

void StreamUses::escaped(Lent const& lent) noexcept {
  Locked const locked(*this);
  _escaped_writable = _escaped_writable || lent.use == Use::write;
  // A stream that its handle does not own may be destroyed before the views.
  _escaped_anywhere = _escaped_anywhere || !lent.is_known || !lent.queue.lasting;
  if (_escaped_anywhere) return;
  for (Queue const& known : _escaped)
    if (known.is(lent.queue)) return;
  try {
    _escaped.push_back(lent.queue);
  } catch (std::bad_alloc const&) {
    _escaped_anywhere = true;
  }
}

bool StreamUses::fence_escaped(Use before, bool alive) noexcept {
  std::vector<Queue> queues;
  bool anywhere = false;
  Use use = Use::read;
  {
    Locked const locked(*this);
    if (_escaped.empty() && !_escaped_anywhere) return true;
    if (before == Use::read && !_escaped_writable) return true;
    anywhere = _escaped_anywhere;
    use = _escaped_writable ? Use::write : Use::read;
    if (!alive) {
      queues.swap(_escaped);
      _escaped_anywhere = false;
      _escaped_writable = false;
    } else {
      try {
        queues = _escaped;
      } catch (std::bad_alloc const&) {
        anywhere = true;
      }
    }
  }
  if (!anywhere) {
    for (Queue const& queue : queues) fence_one(queue, use);
    return true;
  }
  testing::detail::WaitSite const site("views that were kept past their lease, in streams that are not known");
  if (!detail::synchronize(_memory->context())) {
    Locked const locked(*this);
    _escaped_anywhere = true;
    _escaped_writable = _escaped_writable || use == Use::write;
    return false;
  }
  report_blocking("all work of a device was waited for: kept views were used in streams that are not known");
  return true;
}

void StreamUses::fence_one(Queue const& queue, Use use) noexcept {
  StreamUse const end = end_of(queue, *_memory);
  if (!end.event && !end.is_unknown) return;
  try {
    Locked const locked(*this);
    if (use == Use::write) {
      // This write and the recorded reads did not wait for each other.
      for (Entry& read : _reads) read.is_behind_writes = false;
      _writes.push_back(end);
      _writes_were_before = false;
    } else {
      _reads.push_back({end, false});
    }
    return;
  } catch (std::bad_alloc const&) {
  }
  if (end.event) wait_here(end.event, not_remembered);
}

bool StreamUses::is_unused() noexcept {
  Locked const locked(*this);
  auto const has_ended = [](Entry const& read) { return !read.use.event && !read.use.is_unknown; };
  return (_writes.empty() || _writes_were_before) && _escaped.empty() && !_escaped_anywhere &&
         std::ranges::all_of(_reads, has_ended);
}

std::vector<StreamUse> StreamUses::all() {
  Locked const locked(*this);
  std::vector<StreamUse> all = _writes;
  for (Entry const& read : _reads) all.push_back(read.use);
  return all;
}

}  // namespace memarray::detail
