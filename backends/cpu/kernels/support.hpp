// Shared by the cpu kernels: the choice of the element type at an operation's boundary, and ranges of rows as tasks.
// Ranges depend on shapes only, never on the number of threads, so that every result is the same bit for bit with any
// number of workers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/kernel.hpp"
#include "core/system/parallel.hpp"

namespace strobe::cpu {

/// Calls body(T{}) with T = float or double after `type`. Throws Error for any other type.
template <class Body>
void with_element(ElementType type, Body&& body) {
  if (type == ElementType::f32) {
    body(float{});
  } else if (type == ElementType::f64) {
    body(double{});
  } else {
    throw Error("this operation works on floating-point tensors only");
  }
}

/// Calls task(i) for i in [0, tasks) on the context's workers, or in the caller's thread when it has none.
template <class Task>
void run_tasks(const KernelContext& context, std::int64_t tasks, const Task& task) {
  if (context.workers != nullptr && tasks > 1) {
    context.workers->run(tasks, task);
  } else {
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
  }
}

inline std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// Calls body(begin, end) for the ranges [0, grain), [grain, 2 grain), ... that cover [0, n).
template <class Body>
void for_ranges(const KernelContext& context, std::int64_t n, std::int64_t grain, const Body& body) {
  run_tasks(context, divide_up(n, grain), [&](std::int64_t i) { body(i * grain, std::min(n, (i + 1) * grain)); });
}

inline int thread_count(const KernelContext& context) {
  return context.workers == nullptr ? 1 : context.workers->threads();
}

/// The calling thread's buffer of at least `elements`, on a 64-byte boundary. Its values are those of whoever had it
/// before; the next call on the thread may move it.
template <class T>
T* line_buffer(std::int64_t elements) {
  constexpr std::size_t line = 64;
  thread_local std::vector<T> buffer;
  const std::size_t needed = static_cast<std::size_t>(elements) + line / sizeof(T);
  if (buffer.size() < needed) buffer.resize(needed);
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  return reinterpret_cast<T*>((address + line - 1) / line * line);
}

}  // namespace strobe::cpu
