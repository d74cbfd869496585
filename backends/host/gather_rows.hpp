// Host work on rows of host memory: gathering rows by index, such as a batch's features before their transfer to a
// device, and a copy in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/host/host_work.hpp"

namespace strobe {

/// to[i] = from[rows[i]] for i in [0, count), whole rows of `row_bytes`. `rows` are in [0, from_rows), in any order and
/// with repeats. `to` overlaps neither. The pointers may be null if the work is not carried out.
struct HostGather {
  static constexpr std::string_view name = "gather_rows";
  const std::byte* from = nullptr;  // [from_rows * row_bytes]
  std::int64_t from_rows = 0;
  std::int64_t row_bytes = 0;
  const std::int64_t* rows = nullptr;  // [count]
  std::int64_t count = 0;
  std::byte* to = nullptr;  // [count * row_bytes]

  Work work() const;
  /// Throws Error for a row that `from` does not have.
  void run(Workers& workers) const;
};

/// to[i] = from[i] for i in [0, bytes). The two do not overlap.
struct HostCopy {
  static constexpr std::string_view name = "copy_in_order";
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;

  Work work() const;
  void run(Workers& workers) const;
};

/// Makes a piece of work of `op`; the memory that it names must live until it is done.
template <class Op>
HostWork host_work(const Op& op) {
  HostWork work;
  work.name = Op::name;
  work.work = op.work();
  work.body = [op](Workers& workers) { op.run(workers); };
  return work;
}

}  // namespace strobe
