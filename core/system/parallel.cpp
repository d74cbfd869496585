#include "core/system/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "core/system/threads.hpp"

namespace strobe {
namespace {

// A region of a small kernel lasts tens of microseconds; spinning that long avoids a futex sleep between regions,
// and yielding keeps the spin harmless when there are more threads than cores.
constexpr int spins_before_sleep = 2000;

void relax(int spin) {
  if (spin % 64 == 63) {
    std::this_thread::yield();
  } else {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

// The system may put a helper on its caller's core. There both yield to each other and never sleep, so it has no reason
// to part them, and a region takes four times as long (docs/studies/2026-11-29_worker_speeds.md). After `patience`
// regions in a row a helper leaves. The patience grows, because more threads than cores cannot all be apart.
constexpr int first_patience = 16, most_patience = 1024;

/// Moves this thread to another of its cores. Afterwards it may run on all of them again.
void leave_core(int core) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof all, &all);
}

class CoreChoice {
 public:
  void in_region_of(int caller_core) {
    const int core = sched_getcpu();
    together_ = core == caller_core ? together_ + 1 : 0;
    if (core < 0 || together_ < patience_) return;
    leave_core(core);
    together_ = 0;
    patience_ = std::min(2 * patience_, most_patience);
  }

 private:
  int together_ = 0;  // regions in a row
  int patience_ = first_patience;
};

}  // namespace

Workers::Workers(int threads, Subnormals subnormals) {
  const auto one_more = [&] { return std::thread([this, subnormals] { help(subnormals); }); };
  try {
    for (int i = 1; i < threads; ++i) helpers_.push_back(start_thread("computing", one_more));
  } catch (...) {  // when the constructor throws, no destructor ends the threads that already run
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    throw;
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Workers::take_tasks() {
  for (std::int64_t i = next_.fetch_add(1); i < tasks_; i = next_.fetch_add(1)) {
    try {
      (*task_)(i);
    } catch (...) {
      next_.store(tasks_);  // drops the remaining tasks: their results would be thrown away, and they may take as long
                            // to fail
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

void Workers::run(std::int64_t tasks, const std::function<void(std::int64_t)>& task) {
  if (helpers_.empty() || tasks <= 1) {
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    tasks_ = tasks;
    next_.store(0);
    busy_.store(static_cast<int>(helpers_.size()));
    caller_core_ = sched_getcpu();
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  take_tasks();
  for (int spin = 0; busy_.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < spins_before_sleep) {
      relax(spin);
    } else {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [this] { return busy_.load(std::memory_order_acquire) == 0; });
    }
  }
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  if (failure) std::rethrow_exception(failure);
}

void Workers::help(Subnormals subnormals) {
  std::optional<FlushSubnormals> flush;
  if (subnormals == Subnormals::flush) flush.emplace();
  std::uint64_t seen = 0;
  CoreChoice choice;
  for (;;) {
    for (int spin = 0; generation_.load(std::memory_order_acquire) == seen && spin < spins_before_sleep; ++spin) {
      relax(spin);
    }
    int caller_core = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
      seen = generation_.load(std::memory_order_acquire);
      if (stop_) return;
      caller_core = caller_core_;
    }
    choice.in_region_of(caller_core);
    take_tasks();
    const std::lock_guard lock(mutex_);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_one();
  }
}

}  // namespace strobe
