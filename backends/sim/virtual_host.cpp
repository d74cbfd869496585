// Invariants: an action is carried out once, when everything that it waits for is settled and every action of its order
// that was added before it has been carried out; its time is the latest of these and of when it was asked for. Cost:
// O(actions that wait) per action.
#include "backends/sim/virtual_host.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/errors.hpp"

namespace strobe::sim {
namespace {

/// The virtual-time event inside `event`; null when its time is known from the start.
SimEvent* virtual_part(const DeviceEvent& event) {
  if (event.host == nullptr) return nullptr;
  auto* const known = dynamic_cast<SimEvent*>(event.host.get());
  if (known == nullptr) throw Error("an event of another clock in a simulated rank");
  return known;
}

}  // namespace

bool SimEvent::come() {
  if (failure_) std::rethrow_exception(failure_);
  return settled_;
}

const Instant& SimEvent::instant() const {
  if (failure_) std::rethrow_exception(failure_);
  if (!settled_) throw Error("nobody knows yet when this event comes");
  return instant_;
}

void SimEvent::settle(Instant instant, std::exception_ptr failure) {
  if (settled_) return;
  settled_ = true;
  instant_ = std::move(instant);
  failure_ = std::move(failure);
  for (const std::function<void()>& call : std::exchange(calls_, {})) call();
}

void SimEvent::then(std::function<void()> call) {
  if (settled_) return call();
  calls_.push_back(std::move(call));
}

void WaitingActions::add(const void* order, Instant issued, const std::vector<DeviceEvent>& after, Action action) {
  state_->waiting.push_back({order, std::move(issued), after, std::move(action)});
  for (const DeviceEvent& event : after) {
    SimEvent* const part = virtual_part(event);
    if (part == nullptr || part->settled()) continue;
    part->then([state = std::weak_ptr<State>(state_)] {
      if (const auto alive = state.lock()) go_on(*alive);
    });
  }
  go_on(*state_);
}

bool WaitingActions::carry_out_one(State& state) {
  std::set<const void*> held;
  for (auto one = state.waiting.begin(); one != state.waiting.end(); ++one) {
    const bool may_run =
        held.count(one->order) == 0 && std::all_of(one->after.begin(), one->after.end(), [](const DeviceEvent& event) {
          SimEvent* const part = virtual_part(event);
          return part == nullptr || part->settled();
        });
    if (!may_run) {
      held.insert(one->order);
      continue;
    }
    const Waiting due = std::move(*one);
    state.waiting.erase(one);
    Instant ready = due.issued;
    std::exception_ptr failure;
    for (const DeviceEvent& event : due.after) {
      try {
        SimEvent* const part = virtual_part(event);
        ready.raise(part == nullptr ? Instant(event.seconds) : part->instant());
      } catch (...) {
        failure = std::current_exception();
      }
    }
    due.action(ready, failure);
    return true;
  }
  return false;
}

void WaitingActions::go_on(State& state) {
  state.again = true;
  if (state.busy) return;  // whoever is at it sees what has become ready
  state.busy = true;
  while (std::exchange(state.again, false)) {
    while (carry_out_one(state)) {
    }
  }
  state.busy = false;
}

}  // namespace strobe::sim
