// Evaluation: a task's metrics of one set of weights, on the test samples and on the validation samples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "harness/full_batch/device_samples.hpp"
#include "harness/full_batch/exchange/exchange.hpp"
#include "harness/full_batch/kept_rows.hpp"
#include "harness/request/until.hpp"
#include "harness/schedule/host_values.hpp"

namespace strobe {

/// The samples that one rank evaluates. They stay on its device from epoch to epoch.
class Evaluation {
 public:
  Evaluation(const FullBatchPlan& plan, Device& device, Communicator& communicator);

  /// The steps whose embeddings are read, ascending.
  const std::vector<Step>& steps() const { return steps_; }

  /// Metrics of `parameters`, from their embeddings of `steps()`. Names of validation metrics start with
  /// `validation_prefix`. The same on every rank; empty without values. All ranks must call it.
  std::map<std::string, double> metrics(const Parameters& parameters, const KeptRows& embeddings);

  /// The scores of the test events, then of the validation events, in tasks that are judged on events: each a matrix
  /// of write_score_file. All ranks must call it.
  std::vector<SavedMatrix> scores(const Parameters& parameters, const KeptRows& embeddings);

  /// Whether the last metrics() found one output for all test samples (all_equal).
  bool equal_outputs() const { return equal_outputs_; }

 private:
  /// Samples of one part of the task's split.
  struct Part {
    const char* prefix;
    const PlacedSamples& placed;
    const std::vector<Step>& steps;
    const Samples& samples;
    Exchange halo;
    DeviceSamples own;
  };

  Part part(const char* prefix, const PlacedSamples& placed, const std::vector<Step>& steps, const Samples& samples);
  /// Outputs [n, classes] of all ranks' samples, in the order of the task's list; empty without values.
  std::vector<double> outputs(const Part& part, const Parameters& parameters, const KeptRows& embeddings);

  const FullBatchPlan& plan_;
  Device& device_;
  Communicator& communicator_;
  std::vector<Part> parts_;
  std::vector<Step> steps_;
  bool equal_outputs_ = false;
};

}  // namespace strobe
