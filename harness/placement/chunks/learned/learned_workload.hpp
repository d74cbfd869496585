// The learned workload of chunks (DGC, SIGMOD'23, sections 4.2 and 6). Two MLPs, one for the structure encoders of a
// model and one for its time encoders, predict the time of a chunk's forward and backward pass on a device.
// `strobe calibrate --chunks` measures and trains them. The strategy `chunk` reads them with cost=mlp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/placement/chunks/learned/chunk_sizes.hpp"
#include "harness/placement/chunks/learned/mlp.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// From sizes and widths to seconds. Inputs are logarithms log(1 + x), shifted and scaled to mean 0 and deviation 1.
struct LearnedTime {
  std::vector<double> shift, scale;  // [inputs]
  double centre = 0;                 // mean logarithm of the seconds that it was trained on
  Mlp<float> mlp;                    // predicts seconds / exp(centre)

  /// Seconds for rows of inputs x [n, inputs].
  std::vector<double> seconds(const std::vector<double>& x) const;
};

/// Fits one: x [n, inputs], seconds [n], each more than 0.
LearnedTime learn_time(const std::vector<double>& x, const std::vector<double>& seconds, const MlpTraining& how);

/// Smallest and largest value that was trained on.
struct LearnedRange {
  double smallest = 0, largest = 0;
  bool holds(double value) const { return value >= smallest && value <= largest; }
};

struct LearnedWorkload {
  Json model;           // {"name", every parameter}; `hidden`, where there is one, was varied
  std::string device;   // the measured device: cpu, or sim
  std::string cluster;  // the simulated cluster's name, or this machine's cluster name
  std::string precision;
  std::string sequence_length;  // which lengths are inputs: none | mean | longest | both | rounds (with both)
  LearnedRange hidden, feature_width, cells;
  std::optional<LearnedTime> structure, time;  // absent where the model has no such stage
  Json report;                                 // errors, counts, graphs, date: for readers
};

/// Whether sequences' lengths count from their beginning (an attention reads all earlier cells).
bool lengths_from_beginning(const std::vector<LayerShape>& layers);

/// Inputs of both MLPs for one chunk: cells, edges, feature width, lengths as `sequence_length` says, and the widths of
/// both stages of every layer.
std::vector<double> workload_inputs(const ChunkSizes& sizes, std::int64_t feature_width,
                                    const std::vector<LayerShape>& layers, const std::string& sequence_length);

/// Widths of the data and of the model.
struct WorkloadWidths {
  std::int64_t features = 0;
  const std::vector<LayerShape>& layers;
};

/// Seconds of each chunk, both stages together: [C]. A chunk with more cells than any measured one counts as several
/// equal parts that are no larger.
/// With `fixed_once`, the time of the smallest measured chunk (a single run of cells without neighbours) is subtracted.
/// The result is never less than a hundredth of the prediction.
std::vector<double> learned_seconds(const LearnedWorkload& learned, const std::vector<ChunkSizes>& chunks,
                                    const WorkloadWidths& widths, bool fixed_once = false);

/// The training that a case runs, and its device.
struct WorkloadUse {
  Json model;
  std::string device, cluster, precision;  // the cluster's name; "" on a real device
  std::int64_t feature_width = 0;
};

/// Throws InvalidRequest("/strategy/workloads", ...) if `learned`, read from `file`, does not cover such a case.
void check_learned(const LearnedWorkload& learned, const WorkloadUse& use, const std::string& file);

/// Converts to a file's JSON, with its digest (core/content_digest.hpp), and from it. Throws
/// InvalidRequest("/strategy/workloads", ...) for JSON that is damaged or something else.
Json learned_to_json(const LearnedWorkload& learned);
LearnedWorkload learned_from_json(Json json, const std::string& file);

}  // namespace strobe
