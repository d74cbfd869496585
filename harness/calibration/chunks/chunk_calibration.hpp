// Learns the workload of chunks: cuts chunks at random, measures them, trains the two MLPs and tells how far they and
// the counting costs are from chunks that nobody trained on (DGC, SIGMOD'23, sections 4.2, 6 and 7.6).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/placement/chunks/learned/learned_workload.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// A graph whose chunks a model computes at one width.
struct ChunkSource {
  Case request;                     // of two ranks
  std::int64_t feature_copies = 1;  // each feature so many times side by side, for wider inputs than the graph has
};

struct ChunkCalibration {
  std::vector<ChunkSource> sources;  // the same but for workload, the model's `hidden` and copies
  std::int64_t trained = 50000, held_out = 1000;
  std::int64_t fewest_cells = 4, most_cells = 16384;  // of a chunk; in between every size is as likely by logarithm
  int runs = 20;
  double shortest_seconds = 20e-6;  // chunks that take less are noise of the clock, and left out
  std::string sequence_length = "rounds";
  MlpTraining training;
  std::function<void(const std::string& id, double seconds)>
      measured;  // tells of a source and its mean chunk; may be empty
};

/// A chunk that nobody trained on.
struct HeldOutChunk {
  std::int64_t source = 0;      // of ChunkCalibration::sources
  double cells = 0, edges = 0;  // edges: non-zeros of its rows of A
  double structure_seconds = 0, time_seconds = 0, predicted_seconds = 0;
};

/// Mean of |predicted - measured| / measured (Eq. 8).
struct ChunkError {
  std::string cost;
  double mean = 0;    // by the best single factor, of the counting costs
  double median = 0;  // likewise
  double factor = 1;  // that its numbers were multiplied with
};

struct LearnedChunks {
  LearnedWorkload learned;         // `report` and `cluster` are left to the caller
  std::vector<ChunkError> errors;  // mlp, cost_model, cells, edges
  /// Mean |again - first| / first of chunks that were measured twice, minutes apart: the machine's noise.
  double repeat_error = 0;
  double structure_error = 0, time_error = 0;            // of the two MLPs alone, held out; 0 where there is none
  std::int64_t trained = 0, held_out = 0, left_out = 0;  // left out: too short
  std::vector<HeldOutChunk> chunks;                      // [held_out]
  double shortest_seconds = 0, median_seconds = 0, longest_seconds = 0;  // of the measured ones
};

/// Measures and trains. Throws InvalidRequest where nearly all chunks are too short, and as planning does; Interrupted
/// on a stop signal.
LearnedChunks learn_chunks(const ChunkCalibration& how);

/// The factor by which `predicted` has the least mean |factor predicted - measured| / measured, and that error.
ChunkError best_factor(const std::vector<double>& predicted, const std::vector<double>& measured);

}  // namespace strobe
