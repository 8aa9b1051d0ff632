#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/base/fork.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <mutex>
#include <string>

#include "driver/simulated/entries.hpp"
#include "driver/simulated/session.hpp"
#include "driver/simulated/session_registry.hpp"

namespace memarray::testing {

// `Hidden` and `Visible` concern only the thread sanitizer.
using simulated::function_index;
using simulated::Hidden;
using simulated::Session;
using simulated::Visible;

namespace {

void check_count(int nth, int times) {
  if (nth < 1) throw ValueError("nth counts from 1; it is " + std::to_string(nth));
  if (times < 1 && times != SimulatedDevices::always)
    throw ValueError("times must be at least 1; it is " + std::to_string(times));
}

// Must not run in forked children, which lack the session's threads.
void wait_for_all(Session& session) {
  std::vector<std::shared_ptr<simulated::Completion>> work;
  {
    std::lock_guard const guard(session.lock);
    work = session.work([](simulated::Context const&) { return true; });
  }
  simulated::wait(work);
}

void settle() noexcept {
  if (auto const* const above = memarray::detail::driver_hooks()) above->settle();
}

bool is_usable(Session const& session) noexcept { return session.generation == memarray::detail::fork_generation(); }

}  // namespace

SimulatedDevices::SimulatedDevices(SimulatedOptions const& options) {
  Hidden const hidden;
  _session = Session::make(options);
  simulated::open_block(_session);
}

SimulatedDevices::~SimulatedDevices() {
  end();
  Hidden const hidden;
  // A forked child leaks the session.
  if (!is_usable(*_session)) static_cast<void>(new std::shared_ptr<Session>(_session));
  _session.reset();
}

void SimulatedDevices::end() noexcept {
  RuntimeRelease const released;  // work may need the interpreter
  Hidden const hidden;
  if (!is_usable(*_session)) return;
  wait_for_all(*_session);
  if (auto const* const above = memarray::detail::driver_hooks()) {
    Visible const visible;
    above->end(_session->table);
  }
  wait_for_all(*_session);  // frees are work, too
  simulated::close_block(*_session);
  _session->close();
}

void SimulatedDevices::fail(std::string_view function, int nth, int code, int times) {
  Hidden const hidden;
  check_count(nth, times);
  if (code == 0) throw ValueError("expected a code other than 0; use drop() to drop a call");
  std::size_t const index = function_index(function);
  if (is_usable(*_session)) _session->injection.inject(index, nth, times, code);
}

void SimulatedDevices::drop(std::string_view function, int nth, int times) {
  Hidden const hidden;
  check_count(nth, times);
  std::size_t const index = function_index(function);
  if (!simulated::can_be_dropped(index))
    throw ValueError(std::string(function) + " returns a result, so its calls cannot be dropped; use fail()");
  if (is_usable(*_session)) _session->injection.inject(index, nth, times, 0);
}

void SimulatedDevices::delay(std::chrono::nanoseconds each) {
  Hidden const hidden;
  if (each.count() < 0) throw ValueError("a delay cannot be negative; it is " + std::to_string(each.count()) + " ns");
  _session->set_delay(each);
}

void SimulatedDevices::clear() {
  Hidden const hidden;
  _session->set_delay({});
  if (is_usable(*_session)) _session->injection.clear();
}

std::uint64_t SimulatedDevices::calls(std::string_view function) const {
  Hidden const hidden;
  return function.empty() ? _session->injection.calls() : _session->injection.calls(function_index(function));
}

LiveResources SimulatedDevices::live() const {
  settle();
  Hidden const hidden;
  if (!is_usable(*_session)) return {};
  std::lock_guard const guard(_session->lock);
  return _session->live();
}

std::vector<std::string> SimulatedDevices::live_resources() const {
  settle();
  Hidden const hidden;
  if (!is_usable(*_session)) return {};
  std::lock_guard const guard(_session->lock);
  return _session->live_resources();
}

std::vector<std::string> SimulatedDevices::violations() const {
  Hidden const hidden;
  if (!is_usable(*_session)) return {};
  return _session->violations();
}

std::vector<std::string> SimulatedDevices::waits() const {
  Hidden const hidden;
  if (!is_usable(*_session)) return {};
  return _session->waits();
}

bool detail::are_simulated() noexcept {
  DriverTable const* const table = memarray::detail::replacing_driver();
  return table && table->is_simulated();
}

DriverTable const* SimulatedDevices::table() const noexcept { return _session->table; }

}  // namespace memarray::testing
