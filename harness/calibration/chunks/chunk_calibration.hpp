// Learns the workload of chunks. It cuts chunks at random, measures them and trains the two MLPs. It reports the errors
// of the MLPs and of the counting costs on held-out chunks (DGC, SIGMOD'23, sections 4.2, 6 and 7.6).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/placement/chunks/learned/learned_workload.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// A graph with a feature width. A model computes its chunks.
struct ChunkSource {
  Case request;                     // of two ranks
  std::int64_t feature_copies = 1;  // copies of each feature side by side, for inputs wider than the graph's
};

struct ChunkCalibration {
  std::vector<ChunkSource> sources;  // equal except for workload, the model's `hidden` and copies
  std::int64_t trained = 50000, held_out = 1000;
  std::int64_t fewest_cells = 4, most_cells = 16384;  // of a chunk; the logarithm of the size is uniform
  int runs = 20;
  double shortest_seconds = 20e-6;  // shorter chunks measure the clock's noise and are left out
  std::string sequence_length = "rounds";
  MlpTraining training;
  std::function<void(const std::string& id, double seconds)>
      measured;  // tells of a source and its mean chunk; may be empty
};

/// A chunk that was not used for training.
struct HeldOutChunk {
  std::int64_t source = 0;      // of ChunkCalibration::sources
  double cells = 0, edges = 0;  // edges: non-zeros of its rows of A
  double structure_seconds = 0, time_seconds = 0, predicted_seconds = 0;
};

/// Mean of |predicted - measured| / measured (Eq. 8).
struct ChunkError {
  std::string cost;
  double mean = 0;    // for counting costs, with the best single factor
  double median = 0;  // the same
  double factor = 1;  // the factor that multiplied its numbers
};

struct LearnedChunks {
  LearnedWorkload learned;         // the caller fills in `report` and `cluster`
  std::vector<ChunkError> errors;  // mlp, cost_model, cells, edges
  /// Mean |second - first| / first of chunks that were measured twice, minutes apart: the machine's noise.
  double repeat_error = 0;
  double structure_error = 0, time_error = 0;            // of each MLP alone, held out; 0 without that MLP
  std::int64_t trained = 0, held_out = 0, left_out = 0;  // left out: too short
  std::vector<HeldOutChunk> chunks;                      // [held_out]
  double shortest_seconds = 0, median_seconds = 0, longest_seconds = 0;  // of the measured ones
};

/// Measures and trains. Throws InvalidRequest when nearly all chunks are too short, and the exceptions of planning.
/// Throws Interrupted on a stop signal.
LearnedChunks learn_chunks(const ChunkCalibration& how);

/// The factor that minimises the mean |factor predicted - measured| / measured, with that error.
ChunkError best_factor(const std::vector<double>& predicted, const std::vector<double>& measured);

}  // namespace strobe
