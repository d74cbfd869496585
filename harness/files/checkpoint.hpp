// Where training stands between two epochs, written to a file and read back: a run that continues from it goes on bit
// for bit as if it had not stopped. Also the weights alone, to start another run from.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/request/case.hpp"
#include "models/tape/parameters.hpp"

namespace strobe {

/// Everything that the next epoch depends on, and what the epochs before it came to. Vectors are in the order of the
/// plan's parameters.
struct TrainingState {
  std::int64_t epoch = 0;                                // epochs that are done, warm-up included
  std::vector<double> weights;                           // [parameter count]
  std::map<std::string, std::vector<double>> optimizer;  // each [parameter count]
  std::int64_t optimizer_steps = 0;
  /// What else the next epoch depends on, by the name that the kind of training gives it.
  std::map<std::string, std::vector<double>> kept;
  std::vector<double> loss;                            // [epoch]
  std::map<std::string, std::vector<double>> metrics;  // each [epoch], of the weights after the epoch's update
};

/// Whether every value is a finite number: training that diverged leaves others, which nothing can go on from.
bool all_finite(const std::vector<double>& values);
bool is_finite(const TrainingState& state);

/// Writes the weights as safetensors, one tensor per parameter under its name; the metadata name the model, its
/// options, the task, the seed and the number of epochs trained. Throws SystemError.
void save_weights(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters,
                  const std::vector<double>& weights, std::int64_t epoch);

/// The weights of `path` in the order of `parameters`. Throws InvalidRequest("/load_model", ...) that names the field
/// or the weight that differs when they are of another model, task or shape, when one is not a finite number, or when
/// there is no such file.
std::vector<double> load_weights(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters);

/// SHA-256 of the files that the case's workload reads (workload_digests).
Json digests_of_data(const Case& c);

/// Writes weights and optimiser state as safetensors ("optimizer.first_moment.layer1.weight"), atomically, with the
/// case, the curves so far and `digests` of the data that were trained on as metadata. Throws SystemError.
void save_checkpoint(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters,
                     const TrainingState& state, const Json& digests);

/// The state in `path`. Throws InvalidRequest("--resume-training", ...) that names the field that differs when the file
/// is of another workload, of files with other content, of another model, task, optimiser, seed or precision, or holds
/// a value that is not a finite number; InvalidInput when it is no checkpoint.
TrainingState load_checkpoint(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters);

/// Whether training that stands there has nothing left to do: it has as many epochs as are asked for, or has come to
/// the case's `until`.
bool is_over(const Case& c, const TrainingState& state);

/// Throws InvalidRequest("--resume-training", ...) that says what to ask for when it has not.
void refuse_over(const Case& c, const TrainingState& state, const std::string& path);

}  // namespace strobe
