#include "session.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/base/fork.hpp>

#include <algorithm>

#include "base/thread_number.hpp"
#include "entries.hpp"
#include "session_registry.hpp"
#include "site.hpp"

namespace memarray::simulated {
namespace {

std::string made_at(std::string const& site) { return site.empty() ? "" : ", made at " + site; }

}  // namespace

std::shared_ptr<Session> Session::make(testing::SimulatedOptions const& options) {
  if (options.count < 1)
    throw ValueError("simulated devices: count must be at least 1; it is " + std::to_string(options.count));
  if (options.memory < granularity)
    throw ValueError("simulated devices: memory must be at least 512 bytes; it is " + std::to_string(options.memory));
  std::shared_ptr<Session> session(new Session(options, next_session_number()));
  session->_self = session;
  add_session(session);
  return session;
}

Session::Session(testing::SimulatedOptions const& options, std::uint32_t number)
    : number(number),
      generation(detail::fork_generation()),
      options(options),
      table(make_table(options.lend_as_cuda)),
      memory(options, number, touches) {}

Session::~Session() { remove_session(number); }

void Session::violation(std::string words) {
  std::lock_guard const guard(_words_lock);
  _violations.emplace_back(next_in_order(), std::move(words));
}

std::vector<std::string> Session::violations() const {
  auto all = touches.touches();
  {
    std::lock_guard const guard(_words_lock);
    all.insert(all.end(), _violations.begin(), _violations.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> words;
  words.reserve(all.size());
  for (auto& [order, text] : all) words.push_back(std::move(text));
  return words;
}

void Session::note_wait(std::size_t function) {
  std::string wait = words(function_name(function), ": ", current_wait_site());
  std::lock_guard const guard(_words_lock);
  _waits.push_back(std::move(wait));
}

std::vector<std::string> Session::waits() const {
  std::lock_guard const guard(_words_lock);
  return _waits;
}

testing::LiveResources Session::live() const {
  testing::LiveResources live;
  for (auto const& [handle, context] : contexts.all()) live.contexts += context->references;
  live.streams = static_cast<std::int64_t>(streams.all().size());
  live.events = static_cast<std::int64_t>(events.all().size());
  for (auto const& [handle, pool] : pools.all())
    if (!pool->is_default) ++live.pools;
  for (auto const& [begin, allocation] : memory.all()) {
    switch (allocation->kind) {
      case Allocation::Kind::device: ++live.device_memory; break;
      case Allocation::Kind::managed: ++live.managed_memory; break;
      case Allocation::Kind::pinned: ++live.pinned_memory; break;
    }
  }
  return live;
}

std::vector<std::string> Session::live_resources() const {
  std::vector<std::string> all;
  auto const add = [&](char const* kind, void const* handle, std::string const& site) {
    all.push_back(words(kind, " ", handle, made_at(site)));
  };
  for (auto const& [handle, context] : contexts.all()) add("context", handle, context->site);
  for (auto const& [handle, stream] : streams.all()) add("stream", handle, stream->site);
  for (auto const& [handle, event] : events.all()) add("event", handle, event->site);
  for (auto const& [handle, pool] : pools.all())
    if (!pool->is_default) add("memory pool", handle, pool->site);
  for (auto const& [begin, allocation] : memory.all()) {
    char const* const kind = allocation->kind == Allocation::Kind::pinned    ? "pinned memory"
                             : allocation->kind == Allocation::Kind::managed ? "managed memory"
                                                                             : "device memory";
    all.push_back(words(kind, " ", reinterpret_cast<void const*>(begin), ", ", allocation->bytes, " bytes of device ",
                        allocation->device, made_at(allocation->site)));
  }
  return all;
}

template <typename T, typename Handle>
std::shared_ptr<T> Session::known(Handles<T, Handle> const& handles, Handle handle, char const* kind,
                                  std::size_t function) {
  auto found = handles.find(handle);
  if (found) return found;
  char const* const why = handles.was_destroyed(handle, number) ? ", which was destroyed" : ", which is not known";
  violation(words(function_name(function), ": ", kind, " ", static_cast<void const*>(handle), why));
  return nullptr;
}

std::shared_ptr<Context> Session::current(std::size_t function, cu::Result& error) {
  cu::Context const handle = ContextStack::top();
  if (!handle) {
    error = cuda_code::invalid_context;
    return nullptr;
  }
  auto found = known(contexts, handle, "the current context", function);
  if (!found) error = cuda_code::context_is_destroyed;
  return found;
}

std::shared_ptr<Context> Session::context(cu::Context handle, std::size_t function, cu::Result& error) {
  auto found = known(contexts, handle, "context", function);
  if (!found) error = cuda_code::invalid_context;
  return found;
}

std::shared_ptr<Stream> Session::stream(cu::Stream handle, std::size_t function, cu::Result& error) {
  auto const value = reinterpret_cast<std::uintptr_t>(handle);
  if (value > 2) {
    auto found = known(streams, handle, "stream", function);
    if (!found) error = cuda_code::invalid_handle;
    return found;
  }
  auto const context = current(function, error);
  if (!context) return nullptr;
  bool const is_legacy = value != 2;
  auto& implicit = is_legacy ? context->legacy : context->per_thread[detail::this_thread_number()];
  if (!implicit) implicit = start_stream(*context, is_legacy ? Stream::Kind::legacy : Stream::Kind::blocking, 0, 0);
  return implicit;
}

cu::Result Session::state_of(cu::Context handle) const {
  auto const context = contexts.find(handle);
  return context ? context->error : cuda_code::success;
}

std::shared_ptr<Context> Session::working_context(std::size_t function, cu::Result& error) {
  auto found = current(function, error);
  if (found && found->error != cuda_code::success) {
    error = found->error;
    return nullptr;
  }
  return found;
}

std::shared_ptr<Stream> Session::working_stream(cu::Stream handle, std::size_t function, cu::Result& error) {
  auto found = stream(handle, function, error);
  if (cu::Result const state = found ? state_of(found->context) : cuda_code::success; state != cuda_code::success) {
    error = state;
    return nullptr;
  }
  return found;
}

std::shared_ptr<Event> Session::event(cu::Event handle, std::size_t function, cu::Result& error) {
  auto found = known(events, handle, "event", function);
  if (!found) error = cuda_code::invalid_handle;
  return found;
}

std::shared_ptr<Pool> Session::pool(cu::MemoryPool handle, std::size_t function, cu::Result& error) {
  auto found = known(pools, handle, "memory pool", function);
  if (!found) error = cuda_code::invalid_handle;
  return found;
}

std::shared_ptr<Stream> Session::start_stream(Context& context, Stream::Kind kind, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(streams.next(number), context, kind, flags, priority);
  Stream::start(shared_from_this(), stream);
  return stream;
}

std::shared_ptr<Completion> Session::submit(Stream& stream, Operation operation) {
  auto const context = contexts.find(stream.context);
  if (context && stream.kind == Stream::Kind::legacy) {
    auto const wait_for = [&](Stream& other) {
      if (other.kind != Stream::Kind::blocking || other.context != stream.context) return;
      if (!other.last() || other.last() == other.seen_by_legacy) return;
      operation.after.push_back(other.last());
      other.seen_by_legacy = other.last();
    };
    for (auto const& [handle, other] : streams.all()) wait_for(*other);
    for (auto const& [thread, other] : context->per_thread) wait_for(*other);
    for (auto& ended : std::exchange(context->draining_blocking, {})) {
      operation.after.push_back(ended);
      context->draining.push_back(std::move(ended));
    }
  } else if (context && stream.kind == Stream::Kind::blocking && context->legacy) {
    auto const& last = context->legacy->last();
    if (last && last != stream.seen_of_legacy) operation.after.push_back(stream.seen_of_legacy = last);
  }
  return stream.submit(std::move(operation));
}

std::vector<std::shared_ptr<Completion>> Session::work(std::function<bool(Context const&)> const& of) {
  std::vector<std::shared_ptr<Completion>> ends;
  auto const add = [&](Stream const& stream) {
    if (stream.last()) ends.push_back(stream.last());
  };
  for (auto const& [handle, stream] : streams.all())
    if (auto const context = contexts.find(stream->context); context && of(*context)) add(*stream);
  for (auto const& [handle, context] : contexts.all()) {
    if (!of(*context)) continue;
    if (context->legacy) add(*context->legacy);
    for (auto const& [thread, stream] : context->per_thread) add(*stream);
    ends.insert(ends.end(), context->draining.begin(), context->draining.end());
    ends.insert(ends.end(), context->draining_blocking.begin(), context->draining_blocking.end());
  }
  return ends;
}

void Session::end_stream(Context& context, Stream& stream) {
  stream.end();
  if (!stream.last()) return;
  auto& draining = stream.kind == Stream::Kind::blocking ? context.draining_blocking : context.draining;
  // Under the sanitizer, completed work is kept, too, for its edges.
  if (!is_watched) std::erase_if(draining, [](auto const& completion) { return completion->poll(); });
  draining.push_back(stream.last());
}

void Session::destroy(Context& context, std::size_t function) {
  auto const report = [&](std::size_t count, char const* kind) {
    if (count == 0) return;
    violation(words(function_name(function), ": context ", static_cast<void const*>(context.handle),
                    " destroyed before ", count, " ", kind, " of it"));
  };
  auto const of_context = [&](auto const& handles) {
    std::vector<std::decay_t<decltype(handles.all().begin()->first)>> found;
    for (auto const& [handle, resource] : handles.all())
      if (resource->context == context.handle) found.push_back(handle);
    return found;
  };
  auto const lost_streams = of_context(streams);
  for (cu::Stream const handle : lost_streams) {
    streams.find(handle)->end();
    streams.remove(handle);
  }
  report(lost_streams.size(), "stream(s)");
  auto const lost_events = of_context(events);
  for (cu::Event const handle : lost_events) events.remove(handle);
  report(lost_events.size(), "event(s)");
  std::vector<std::shared_ptr<Allocation>> lost;
  for (auto const& [begin, allocation] : memory.all())
    if (allocation->context == context.handle) lost.push_back(allocation);
  for (auto const& allocation : lost) {
    memory.remove(*allocation);
    allocation->is_freed = true;
    if (!allocation->on_host) reclaim(*allocation, freed_now());
  }
  report(lost.size(), "allocation(s)");
  if (context.legacy) context.legacy->end();
  for (auto const& [thread, stream] : context.per_thread) stream->end();
  contexts.remove(context.handle);
}

void Session::trim_pools() {
  for (auto const& [handle, pool] : pools.all()) pool->trim(pool->release_threshold, memory.arena(pool->device).free);
  for (int device = 0; device < options.count; ++device) {
    Pool& pool = *memory.default_pool(device);
    pool.trim(pool.release_threshold, memory.arena(device).free);
  }
}

void Session::reclaim(Allocation const& allocation, std::shared_ptr<Freeing> freeing) {
  FreeRanges& device_memory = memory.arena(allocation.device).free;
  if (!allocation.pool) {
    device_memory.give(allocation.begin, allocation.reserved, std::move(freeing));
    return;
  }
  allocation.pool->free(allocation.begin, allocation.reserved, std::move(freeing));
  if (allocation.pool->is_destroyed) allocation.pool->trim(0, device_memory);
}

void Session::close() noexcept {
  _is_closed.store(true, std::memory_order_release);
  retire();
}

void Session::retire() noexcept {
  if (!_is_closed.load(std::memory_order_acquire)) return;
  std::shared_ptr<Session> self;
  std::lock_guard const guard(lock);
  if (_threads.load() != 0 || !_self || live().total() != 0) return;
  _is_retired.store(true, std::memory_order_release);
  memory.give_back();
  self = std::move(_self);
}

}  // namespace memarray::simulated
