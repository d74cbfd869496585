// The rows of a graph that one process reads: those of its own vertices. Processes tell each other of entries that read
// vertices of another.
#pragma once

#include <vector>

#include "core/ids.hpp"
#include "workloads/partitioners/share_holders.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// An entry of A between two different vertices.
struct Reading {
  VertexId read = 0, reader = 0;
};

/// Entries of step t in rows of other processes that read own vertices. Readers ascend. Shares are even in vertices.
/// All `holders` call it; each reads its own rows.
std::vector<Reading> readings_of_others(const PreparedGraph& graph, Step t, const ShareHolders& holders);

/// Rows of a run of vertices, and all other entries that read these vertices. Memory: 8 bytes for each of the latter.
struct RowShare {
  const PreparedGraph& graph;
  Run own;
  std::vector<std::vector<Reading>> others;  // [steps] or, for a whole graph, [0]; readers ascend

  bool owns(std::int64_t v) const { return v >= own.first && v < own.first + own.count; }

  /// Calls visit(read, reader) for the entries of a step that have an end here, or begin_row(v) before those of an own
  /// row. Readers ascend.
  template <class Visit, class BeginRow>
  void for_readings(Step t, const Visit& visit, const BeginRow& begin_row) const {
    const std::vector<Reading>* told = others.empty() ? nullptr : &others[t];
    std::size_t i = 0;
    for (; told != nullptr && i < told->size() && (*told)[i].reader < own.first; ++i)
      visit((*told)[i].read, (*told)[i].reader);
    const std::int64_t* row = graph.row_offsets.data() + t * graph.vertices + own.first;
    for (std::int64_t v = own.first; v < own.first + own.count; ++v, ++row) {
      const auto reader = static_cast<VertexId>(v);
      begin_row(reader);
      for (std::int64_t e = row[0]; e < row[1]; ++e)
        if (graph.columns[e] != reader) visit(graph.columns[e], reader);
    }
    for (; told != nullptr && i < told->size(); ++i) visit((*told)[i].read, (*told)[i].reader);
  }
};

/// The share of one of `holders`; all call it. `graph` must outlive it.
RowShare row_share(const PreparedGraph& graph, const ShareHolders& holders);

}  // namespace strobe
