// Task: what is learnt from the embeddings: seeded samples (the same at every rank count), a head, a loss, metrics.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.hpp"
#include "models/parameters.hpp"
#include "workloads/graph.hpp"

namespace strobe {

/// Samples over cells. Sample i reads the embeddings of `arity` vertices at one step and has one class label.
struct Samples {
  int arity = 1;
  std::vector<VertexId> vertices;     // [n * arity], sample-major
  std::vector<Step> step;             // [n]: the step whose embedding is read
  std::vector<std::int32_t> label;    // [n]
  std::int64_t count() const { return static_cast<std::int64_t>(step.size()); }
};

/// Training and test samples of one task on one graph. `steps` is how many snapshots are trained on.
struct TaskData {
  std::int64_t steps = 0;
  Samples train, test;
};

class Task {
 public:
  virtual ~Task() = default;
  /// Draws the samples from the raw graph. Throws InvalidRequest when the graph has too few steps for the task.
  virtual TaskData draw(const SnapshotGraph& graph, std::uint64_t seed) const = 0;
  virtual std::vector<ParameterShape> parameters(std::int64_t embedding_width) const = 0;
  /// Logits [n, classes] from gathered embeddings cells [n, arity * width].
  virtual Var head(Tape& tape, const Parameters& parameters, const Var& cells) const = 0;
  virtual std::int64_t classes() const = 0;
  /// Named metrics from all test logits [n, classes] (row-major, any order) and their labels.
  virtual std::map<std::string, double> metrics(const std::vector<double>& logits,
                                                const std::vector<std::int32_t>& labels) const = 0;
  /// Names that `metrics` returns.
  virtual std::vector<std::string> metric_names() const = 0;
};

struct TaskTag {
  static constexpr const char* kind = "task";
  using Value = std::unique_ptr<Task> (*)(const Json& parameters);
};
using TaskRegistry = Registry<TaskTag>;

/// Share of samples whose largest logit is their label; ties count as wrong.
double accuracy(const std::vector<double>& logits, const std::vector<std::int32_t>& labels, std::int64_t classes);

/// Area under the ROC curve of `scores` for label 1 against 0, ties counted one half (Mann-Whitney). NaN when a class is
/// missing.
double area_under_roc(const std::vector<double>& scores, const std::vector<std::int32_t>& labels);

}  // namespace strobe
