#include "emulate_contexts.hpp"

#include <mutex>

#include "session.hpp"
#include "site.hpp"

namespace memarray::simulated::emulated {
namespace {

std::shared_ptr<Context> make_context(Session& session, cu::Device device, bool is_primary) {
  auto context = std::make_shared<Context>();
  context->handle = session.contexts.next(session.number);
  context->device = device;
  context->is_primary = is_primary;
  context->site = current_site();
  session.contexts.add(context->handle, context);
  return context;
}

std::shared_ptr<Context> find_primary(Session& session, cu::Device device) {
  for (auto const& [handle, context] : session.contexts.all())
    if (context->is_primary && context->device == device) return context;
  return nullptr;
}

void end(Session& session, Context& context, std::size_t function) {
  std::vector<std::shared_ptr<Completion>> work;
  {
    std::lock_guard const guard(session.lock);
    work = session.work([&](Context const& one) { return &one == &context; });
  }
  wait(work);
  std::lock_guard const guard(session.lock);
  // Another thread may have retained it meanwhile.
  if (context.is_primary && --context.references > 0) return;
  session.destroy(context, function);
}

}  // namespace

cu::Result cuDevicePrimaryCtxRetain(Session& session, cu::Context* context, cu::Device device) {
  if (!session.has_device(device)) return cuda_code::invalid_device;
  std::lock_guard const guard(session.lock);
  auto primary = find_primary(session, device);
  if (primary) {
    ++primary->references;
  } else {
    primary = make_context(session, device, true);
  }
  *context = primary->handle;
  return cuda_code::success;
}

cu::Result cuDevicePrimaryCtxRelease(Session& session, cu::Device device) {
  if (!session.has_device(device)) return cuda_code::invalid_device;
  std::shared_ptr<Context> primary;
  {
    std::lock_guard const guard(session.lock);
    primary = find_primary(session, device);
    if (!primary) {
      session.violation(words("cuDevicePrimaryCtxRelease: the context is not retained: device ", device));
      return cuda_code::invalid_context;
    }
    if (primary->references > 1) {
      --primary->references;
      return cuda_code::success;
    }
  }
  end(session, *primary, function::cuDevicePrimaryCtxRelease);
  return cuda_code::success;
}

cu::Result cuCtxCreate(Session& session, cu::Context* context, unsigned, cu::Device device) {
  if (!session.has_device(device)) return cuda_code::invalid_device;
  std::lock_guard const guard(session.lock);
  auto const created = make_context(session, device, false);
  if (!ContextStack::push(created->handle)) {
    session.contexts.remove(created->handle);
    return cuda_code::out_of_memory;
  }
  *context = created->handle;
  return cuda_code::success;
}

cu::Result cuCtxDestroy(Session& session, cu::Context handle) {
  std::shared_ptr<Context> context;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    context = session.context(handle, function::cuCtxDestroy, error);
    if (!context) return error;
    if (context->is_primary) {
      session.violation("cuCtxDestroy: a device's primary context is released, not destroyed");
      return cuda_code::invalid_context;
    }
  }
  end(session, *context, function::cuCtxDestroy);
  if (ContextStack::top() == handle) ContextStack::pop();
  return cuda_code::success;
}

cu::Result cuCtxPushCurrent(Session& session, cu::Context handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  if (!session.context(handle, function::cuCtxPushCurrent, error)) return error;
  return ContextStack::push(handle) ? cuda_code::success : cuda_code::out_of_memory;
}

cu::Result cuCtxPopCurrent(Session&, cu::Context* context) {
  cu::Context const top = ContextStack::top();
  if (!top) return cuda_code::invalid_context;
  ContextStack::pop();
  if (context) *context = top;
  return cuda_code::success;
}

cu::Result cuCtxGetCurrent(Session&, cu::Context* context) {
  *context = ContextStack::top();
  return cuda_code::success;
}

cu::Result cuCtxGetDevice(Session& session, cu::Device* device) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const context = session.current(function::cuCtxGetDevice, error);
  if (!context) return error;
  *device = context->device;
  return cuda_code::success;
}

cu::Result cuCtxSynchronize(Session& session) {
  std::vector<std::shared_ptr<Completion>> work;
  std::shared_ptr<Context> context;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    context = session.current(function::cuCtxSynchronize, error);
    if (!context) return error;
    work = session.work([&](Context const& one) { return &one == context.get(); });
  }
  wait(work);
  std::lock_guard const guard(session.lock);
  session.trim_pools();
  return context->error;
}

cu::Result cuCtxGetStreamPriorityRange(Session& session, int* least, int* greatest) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  if (!session.current(function::cuCtxGetStreamPriorityRange, error)) return error;
  if (least) *least = 0;
  if (greatest) *greatest = greatest_priority;
  return cuda_code::success;
}

cu::Result cuCtxEnablePeerAccess(Session& session, cu::Context peer, unsigned flags) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const other = session.context(peer, function::cuCtxEnablePeerAccess, error);
  auto const context = other ? session.working_context(function::cuCtxEnablePeerAccess, error) : nullptr;
  if (!context) return error;
  if (flags != 0) return cuda_code::invalid_value;
  if (context->device == other->device) return cuda_code::invalid_device;
  if (!session.options.peer_access) return cuda_code::peer_access_unsupported;
  return context->peers.insert(other->device).second ? cuda_code::success : cuda_code::peer_access_already_enabled;
}

}  // namespace memarray::simulated::emulated
