#include "core/system/parallel.hpp"

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
  for (;;) {
    for (int spin = 0; generation_.load(std::memory_order_acquire) == seen && spin < spins_before_sleep; ++spin) {
      relax(spin);
    }
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
      seen = generation_.load(std::memory_order_acquire);
      if (stop_) return;
    }
    take_tasks();
    const std::lock_guard lock(mutex_);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_one();
  }
}

}  // namespace strobe
