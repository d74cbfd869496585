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

namespace strobe::sim {

/// An event in virtual time.
class SimEvent final : public HostEvent {
 public:
  bool come() override;
  bool come_within(std::chrono::nanoseconds) override { return come(); }
  /// Whether it is known when it comes, or that it never does.
  bool settled() const { return settled_; }
  bool failed() const { return failure_ != nullptr; }
  /// Seconds of virtual time. Throws what keeps it from coming; only once settled.
  double seconds() const;
  /// It comes at `seconds`; or never, for what `failure` says.
  void settle(double seconds, std::exception_ptr failure = nullptr);
  /// Which actor settles it (-1: no one alone), and what is waited for, in words; for whoever waits in vain.
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
  double seconds_ = 0;
  std::exception_ptr failure_;
  std::vector<std::function<void()>> calls_;
  int actor_ = -1;
  std::string what_;
};

/// How an actor of the simulated job waits for what others have yet to do.
class VirtualWaits {
 public:
  virtual ~VirtualWaits() = default;
  /// Returns when `event` is settled; other actors go on meanwhile. `what` is what it waits for, in words. Throws what
  /// ends the wait.
  virtual void await(int actor, SimEvent& event, std::string_view what) = 0;
  /// Returns when no actor can do anything before `seconds` any more.
  virtual void catch_up(int actor, double seconds) = 0;
};

/// Actions that wait for events; each runs after earlier actions of the same order.
class WaitingActions {
 public:
  /// Carries an action out: everything that it waits for came by `seconds`, or never will for what the pointer says.
  using Action = std::function<void(double seconds, std::exception_ptr)>;

  /// `issued` is when the program asked for it.
  void add(const void* order, double issued, const std::vector<Event>& after, Action action);
  bool empty() const { return state_->waiting.empty(); }

 private:
  struct Waiting {
    const void* order = nullptr;
    double issued = 0;
    std::vector<Event> after;
    Action action;
  };
  /// Shared with the events that are waited for, which may outlive the rank.
  struct State {
    std::list<Waiting> waiting;
    bool busy = false, again = false;
  };
  static void go_on(State& state);
  static bool carry_out_one(State& state);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace strobe::sim
