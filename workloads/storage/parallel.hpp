// Work in independent parts on several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace strobe {

/// Threads for reading, sorting and indexing: the processors that this process may use, unless
/// `limit_workload_threads` set fewer.
int workload_threads();

/// Sets the number of threads that `workload_threads` returns; 0 = the number of processors. Results never depend on
/// it.
void limit_workload_threads(int threads);

/// Calls task(i) for every i in [0, count) on up to `workload_threads()` threads and waits for all. Tasks start in
/// order. Rethrows the exception of the smallest i that threw.
void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task);

}  // namespace strobe
