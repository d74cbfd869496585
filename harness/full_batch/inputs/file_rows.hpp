// Rows of a prepared graph in a mapped file: brought into memory before their use, and out of it after that.
// Arrays in private memory are left alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/placement/placement.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Rows [first, end) of a prepared graph; row v of step t is t * N + v.
struct GraphRows {
  std::int64_t first = 0, end = 0;
  friend bool operator==(const GraphRows&, const GraphRows&) = default;
};

/// The rows from the first to the last one that `rank` holds at each step, joined where they meet. Step t of the
/// placement is the graph's step first_step + t.
std::vector<GraphRows> rows_read(const Placement& placement, Rank rank, std::int64_t first_step);

/// Reads these rows of matrix and features, and returns when they are in memory.
void bring_rows(const PreparedGraph& graph, const std::vector<GraphRows>& rows);
/// Gives their memory back until they are read again. Other processes keep theirs.
void let_go(const PreparedGraph& graph, const std::vector<GraphRows>& rows);

/// Bytes of matrix and features of these rows in a file with values of `value_bytes`. Where a graph is only
/// counted, the rows of a step have the mean of its non-zeros.
double bytes_of_rows(const PreparedGraph& graph, const std::vector<GraphRows>& rows, std::size_t value_bytes);

}  // namespace strobe
