// Steps of a prepared graph in a mapped file: read ahead of their use, and out of this process's memory after it.
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

/// Asks the system to read these rows of matrix and features. Waits for none of them.
void read_ahead(const PreparedGraph& graph, const std::vector<GraphRows>& rows);
/// Gives their memory back until they are read again. Other processes keep theirs.
void let_go(const PreparedGraph& graph, const std::vector<GraphRows>& rows);

}  // namespace strobe
