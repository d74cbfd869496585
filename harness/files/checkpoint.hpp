// The state of training between two epochs, written to a file and read back. A run that continues from it gives the
// same bits as one that never stopped. Also the weights alone, to start another run from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/request/case.hpp"
#include "harness/request/until.hpp"
#include "models/tape/parameters.hpp"

namespace strobe {

/// Everything that the next epoch depends on, and the curves of the epochs before it. Vectors are in the order of the
/// plan's parameters.
struct TrainingState {
  std::int64_t epoch = 0;                                // finished epochs, including warm-up
  std::vector<double> weights;                           // [parameter count]
  std::map<std::string, std::vector<double>> optimizer;  // each [parameter count]
  std::int64_t optimizer_steps = 0;
  /// Other values that the next epoch depends on, under names that the kind of training chooses.
  std::map<std::string, std::vector<double>> kept;
  std::vector<double> loss;                            // [epoch]
  std::map<std::string, std::vector<double>> metrics;  // each [epoch], of the weights after the epoch's update
};

/// Whether every value is a finite number. Training that diverged leaves other values, and no run can continue from
/// them.
bool all_finite(const std::vector<double>& values);
bool is_finite(const TrainingState& state);

/// Writes the weights as safetensors, one tensor per parameter under its name. The metadata hold the model, its
/// options, the task, the seed and the number of epochs trained. Throws SystemError.
void save_weights(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters,
                  const std::vector<double>& weights, std::int64_t epoch);

/// Reads the weights of `path` in the order of `parameters`. Throws InvalidRequest("/load_model", ...) when there is no
/// such file, when a weight is not a finite number, or when model, task or shapes differ. Its message names the field
/// or the weight that differs.
std::vector<double> load_weights(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters);

/// SHA-256 of the files that the case's workload and model read (workload_digests, model_digests).
Json digests_of_data(const Case& c);

/// Writes a checkpoint as safetensors, atomically: weights and optimiser state
/// ("optimizer.first_moment.layer1.weight"). The metadata hold the case, the curves so far and `digests` of the
/// training data. Throws SystemError.
void save_checkpoint(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters,
                     const TrainingState& state, const Json& digests);

/// Reads the state in `path`. Throws InvalidRequest("--resume-training", ...) when the file belongs to another
/// workload, other data, or another model, task, optimiser, seed or precision. Its message names the field that
/// differs. A value that is not a finite number throws it, too. Throws InvalidInput when the file is not a checkpoint.
TrainingState load_checkpoint(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters);

/// Whether training is over in this state: it has all requested epochs, or it has met `until`, the case's resolved
/// rule.
bool is_over(const Case& c, const std::optional<UntilRule>& until, const TrainingState& state);

/// Throws InvalidRequest("--resume-training", ...) when training is over; its message says what to request instead.
void refuse_over(const Case& c, const std::optional<UntilRule>& until, const TrainingState& state,
                 const std::string& path);

}  // namespace strobe
