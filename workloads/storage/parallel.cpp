// Fork and join on `Workers`, which live as long as one call. Cost: one thread start a helper.
#include "workloads/storage/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "core/system/machine_limits.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

std::atomic<int> chosen_threads{0};

}  // namespace

int workload_threads() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : usable_cores();
}

void limit_workload_threads(int threads) { chosen_threads.store(threads, std::memory_order_relaxed); }

void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  if (count <= 0) return;
  std::mutex mutex;
  // The first that did. Tasks are dealt in order, so those before it are begun by then.
  std::atomic<std::int64_t> failed{count};
  std::exception_ptr error;
  Workers workers(static_cast<int>(std::min<std::int64_t>(workload_threads(), count)));
  workers.run(count, [&](std::int64_t i) {
    if (i > failed.load(std::memory_order_relaxed)) return;  // its result would be thrown away
    try {
      task(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (i >= failed.load()) return;
      failed.store(i);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace strobe
