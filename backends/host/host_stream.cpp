// Invariants: work begins in the order given, each piece when the one before has ended and what it waits for has come;
// a failure reaches everyone who waits for that work or for later work; ending the stream waits for one piece of
// work at most. Waiting is a short sleep between looks, because what is waited for may be a GPU's event or a word in
// memory that another process writes. Cost: a lock and a wake-up per piece of work, some 10 us.
#include "backends/host/host_stream.hpp"

#include <algorithm>
#include <set>

#include "backends/wall_clock.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/threads.hpp"

namespace strobe {
namespace {

using std::chrono::microseconds;
constexpr auto look_interval = std::chrono::milliseconds(2);  // of a rank that waits, at the others
constexpr auto poll_interval = microseconds(20);              // of a thread that waits for what nobody tells it

class Dropped final : public Error {
 public:
  Dropped() : Error("the host stream ended before this work began") {}
};

}  // namespace

void await_host_event(HostEvent& event, const std::function<void()>& look) {
  while (!event.come_within(look_interval)) {
    if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
    if (look) look();
  }
}

/// A piece of work, and the event of its end.
class HostStream::Work final : public HostEvent {
 public:
  Work(std::function<void(Workers&)> body, std::vector<DeviceEvent> after)
      : body_(std::move(body)), after_(std::move(after)), times_(std::make_shared<Times>()) {}

  const std::vector<DeviceEvent>& after() const { return after_; }
  const std::shared_ptr<Times>& times() const { return times_; }

  /// Carries it out, unless work before it has failed.
  void run(Workers& workers, const std::exception_ptr& earlier) {
    std::exception_ptr failure = earlier;
    times_->begin = wall_seconds();
    try {
      if (!failure && body_) body_(workers);
    } catch (...) {
      failure = std::current_exception();
    }
    times_->end = wall_seconds();
    finish(failure);
  }

  void finish(const std::exception_ptr& failure) {
    body_ = nullptr;  // what it held may be let go
    after_.clear();
    {
      const std::lock_guard lock(mutex_);
      failure_ = failure;
      done_ = true;
    }
    changed_.notify_all();
  }

  std::exception_ptr failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  bool come() override {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    return done_;
  }
  bool come_within(std::chrono::nanoseconds patience) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return done_; });
    if (failure_) std::rethrow_exception(failure_);
    return done_;
  }

 private:
  std::function<void(Workers&)> body_;
  std::vector<DeviceEvent> after_;
  std::shared_ptr<Times> times_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr failure_;
};

HostStream::~HostStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
  if (watcher_.joinable()) watcher_.join();
  const auto dropped = std::make_exception_ptr(Dropped());
  for (const std::shared_ptr<Work>& work : given_) work->finish(dropped);
}

HostStream::Given HostStream::give(std::function<void(Workers&)> body, std::vector<DeviceEvent> after) {
  auto work = std::make_shared<Work>(std::move(body), std::move(after));
  {
    const std::lock_guard lock(mutex_);
    given_.push_back(work);
    if (!worker_.joinable())
      worker_ = start_thread("the host's work", [this] { return std::thread([this] { carry_out(); }); });
  }
  changed_.notify_all();
  return {work, work->times()};
}

void HostStream::when(const void* order, std::vector<DeviceEvent> after, Then then) {
  {
    const std::lock_guard lock(mutex_);
    due_.push_back({order, std::move(after), std::move(then)});
    if (!watcher_.joinable())
      watcher_ = start_thread("the host's work", [this] { return std::thread([this] { watch(); }); });
  }
  changed_.notify_all();
}

void HostStream::carry_out() {
  Workers workers(threads_, Subnormals::flush);
  const FlushSubnormals flush;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !given_.empty(); });
    if (stop_) return;
    const std::shared_ptr<Work> work = given_.front();
    std::exception_ptr failure = failure_;
    lock.unlock();
    try {
      if (!failure) await_all(work->after());
    } catch (...) {
      failure = std::current_exception();
    }
    work->run(workers, failure);
    failure = work->failure();
    lock.lock();
    given_.pop_front();
    if (failure && !failure_) failure_ = failure;
  }
}

bool HostStream::come(const DeviceEvent& event) const {
  return (event.host == nullptr || event.host->come()) && (event.native == nullptr || native_.come(event));
}

void HostStream::await_all(const std::vector<DeviceEvent>& events) {
  for (const DeviceEvent& event : events) {
    while (!come(event)) {
      {
        const std::lock_guard lock(mutex_);
        if (stop_) throw Dropped();
      }
      if (event.host != nullptr) {
        event.host->come_within(poll_interval);
      } else {
        std::this_thread::sleep_for(poll_interval);
      }
    }
  }
}

/// Calls what is due, the first of each order; whether there was any.
bool HostStream::take_due(std::list<Due>& mine) {
  std::set<const void*> waiting;
  bool any = false;
  for (auto due = mine.begin(); due != mine.end();) {
    bool ready = waiting.count(due->order) == 0;
    std::exception_ptr failure;
    try {
      ready =
          ready && std::all_of(due->after.begin(), due->after.end(), [this](const DeviceEvent& e) { return come(e); });
    } catch (...) {
      failure = std::current_exception();
    }
    if (!ready) {
      waiting.insert(due->order);
      ++due;
      continue;
    }
    due->then(failure);
    due = mine.erase(due);
    any = true;
  }
  return any;
}

void HostStream::watch() {
  std::list<Due> mine;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (mine.empty()) changed_.wait(lock, [this] { return stop_ || !due_.empty(); });
    if (stop_) return;
    mine.splice(mine.end(), due_);
    lock.unlock();
    if (!take_due(mine)) std::this_thread::sleep_for(poll_interval);
    lock.lock();
  }
}

}  // namespace strobe
