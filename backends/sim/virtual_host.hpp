// Activities of a simulated rank outside its program: host work, transfers ahead, messages to helpers. None begins
// before the events that it waits for. Their times may become known only after the program has gone on.
#pragma once

#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/event.hpp"
#include "backends/sim/instant.hpp"

namespace strobe::sim {

/// An event in virtual time.
class SimEvent final : public HostEvent {
 public:
  bool come() override;
  bool come_within(std::chrono::nanoseconds) override { return come(); }
  /// Whether its time is known, or that it never comes.
  bool settled() const { return settled_; }
  bool failed() const { return failure_ != nullptr; }
  /// When it comes. Throws the failure that keeps it from coming. Call it only once the event is settled.
  const Instant& instant() const;
  double seconds() const { return instant().described(); }
  /// Settles it: it comes at `instant`, or never, because of `failure`.
  void settle(Instant instant, std::exception_ptr failure = nullptr);
  /// The actor that settles it (-1: no single one), and a description of the event, for an actor that waits in vain.
  void expect(int actor, std::string what) {
    actor_ = actor;
    what_ = std::move(what);
  }
  int expected_of() const { return actor_; }
  const std::string& what() const { return what_; }
  /// Calls `call` once it is settled, at once when it is already.
  void then(std::function<void()> call);

 private:
  bool settled_ = false;
  Instant instant_;
  std::exception_ptr failure_;
  std::vector<std::function<void()>> calls_;
  int actor_ = -1;
  std::string what_;
};

/// How an actor of the simulated job waits for other actors.
class VirtualWaits {
 public:
  virtual ~VirtualWaits() = default;
  /// Returns when `event` is settled; other actors run meanwhile. `what` describes the event. Throws the failure that
  /// ends the wait.
  virtual void await(int actor, SimEvent& event, std::string_view what) = 0;
  /// Returns when no actor can do anything earlier than `seconds`.
  virtual void catch_up(int actor, double seconds) = 0;
};

/// Actions that wait for events; each runs after earlier actions of the same order.
class WaitingActions {
 public:
  /// Runs an action. Everything that it waits for came by `ready`, or the pointer holds the failure that prevents it.
  using Action = std::function<void(const Instant& ready, std::exception_ptr)>;

  /// `issued` is the time at which the program asked for it.
  void add(const void* order, Instant issued, const std::vector<DeviceEvent>& after, Action action);
  bool empty() const { return state_->waiting.empty(); }

 private:
  struct Waiting {
    const void* order = nullptr;
    Instant issued;
    std::vector<DeviceEvent> after;
    Action action;
  };
  /// Shared with the events that are waited for, because they may outlive the rank.
  struct State {
    std::list<Waiting> waiting;
    bool busy = false, again = false;
  };
  static void go_on(State& state);
  static bool carry_out_one(State& state);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace strobe::sim
