// A small fork-join pool of threads for kernels. Each device owns one, so ranks that are threads of one process do not
// share workers, and the thread sanitizer sees every synchronisation (it cannot see into an OpenMP runtime).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/system/subnormals.hpp"

namespace strobe {

/// `threads - 1` helper threads plus the caller. Not re-entrant: one parallel region at a time, from one thread.
class Workers {
 public:
  /// `subnormals` is for the helper threads; the caller's own mode is the caller's.
  explicit Workers(int threads, Subnormals subnormals = Subnormals::keep);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Calls task(i) once for each i in [0, tasks), spread dynamically over the threads, and returns when all are done.
  /// The first exception that a task throws is rethrown here. Which thread runs a task is not fixed: a task's result
  /// must depend on i alone.
  void run(std::int64_t tasks, const std::function<void(std::int64_t)>& task);

 private:
  void help(Subnormals subnormals);
  void take_tasks();

  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::int64_t)>* task_ = nullptr;
  std::int64_t tasks_ = 0;
  int caller_core_ = -1;  // where the caller began the region
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> busy_{0};
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace strobe
