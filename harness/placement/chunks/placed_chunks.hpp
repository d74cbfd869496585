// The decisions of the strategy `chunk`, in addition to the placement that follows from them: for reports and for
// --dump-placement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/placement/chunks/chunk_assignment.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

struct PlacedChunks {
  Column<std::uint32_t> of_cell;  // [existing cells] chunk of each, vertex by vertex, a vertex's in order of time
  Column<std::int64_t> cells;     // [C]
  Column<Rank> rank;              // [C]
  std::vector<double> load;       // [P] predicted workload, in the unit of `cost`
  std::string cost;
  std::int64_t max_cells = 0;
  std::int64_t rounds = 0;      // of label propagation among cells
  std::int64_t moved_last = 0;  // cells that changed their label in the last of them
  std::int64_t levels = 1;      // levels that found chunks, including that of the cells
  /// Processor time of this process for making chunks, and for predicting their workloads and assigning them to ranks.
  double generation_seconds = 0, assignment_seconds = 0;
  /// Weights of edges between chunks, and between ranks, in the columns of TrafficWeights.
  std::int64_t cut_between_chunks = 0, cut_between_ranks = 0;
  std::string fusion = "both";  // none | spatial | temporal | both: which stages walk chunks of a rank together
  double fusion_gib = 0;        // that a unit of chunks may take; 0: the memory of the device
  std::string fusion_memory = "planned";  // planned | measured: the source of a unit's memory need
  bool rerun_units = false;  // whether the backward pass computes units again, instead of keeping their results
  /// [parts] bytes of each chunk in each block (CutChunks) that a profiling epoch found in addition to the planned
  /// ones. Empty before that epoch, and when there is none.
  Column<std::int64_t> measured_beyond;
  std::string measured_note;  // findings of the profiling epoch, for the notes of a row
};

/// The chunks as `--dry-run` prints them: number and sizes, both cuts, and each rank's chunks and predicted workload.
/// The predicted divergence is null when a rank has no chunk.
Json describe_chunks(const PlacedChunks& chunks);

/// One sentence for the notes of a row.
std::string chunk_note(const PlacedChunks& chunks);

}  // namespace strobe
