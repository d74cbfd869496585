// Task: the training goal for the embeddings. It has seeded samples (the same at every rank count), a head, a loss,
// metrics, and the metrics of a trivial baseline.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/registry.hpp"
#include "models/ops/ops_loss.hpp"
#include "models/tape/parameters.hpp"
#include "models/tasks/metrics.hpp"
#include "models/tasks/reference_levels.hpp"
#include "workloads/graph/graph.hpp"
#include "workloads/shape/shape.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

/// Samples over cells. Sample i reads the embeddings of `arity` vertices at one step and has a class label or a value.
/// Processes of a node may share the arrays as one mapped file.
struct Samples {
  int arity = 1;
  Column<VertexId> vertices;   // [n * arity], sample-major
  Column<Step> step;           // [n]: the step whose embedding is read
  Column<std::int32_t> label;  // [n]: the class; 0 in a regression
  Column<double> value;        // [n] target of a regression, or empty
  Column<double> weight;       // [n] weight in the loss, or empty: all count equally
  Column<double> baseline;     // [n] prediction of the task's trivial baseline (NaN = nothing), or empty
  /// [n], or empty: candidates that a positive is ranked against name it here (its position in the list); -1 = no
  /// candidate. Candidates count in the rank only.
  Column<std::int32_t> candidate_of;
  /// [n], or empty: what memory of the training steps knows about a sample. For a pair, whether it was an edge: 0 =
  /// never, 1 = before the last step, 2 = in it. For a vertex, its last label there, NaN = none.
  Column<double> memory;
  /// [n * coded], sample-major, or empty: codes that the head reads after the rows of a sample's vertices.
  Column<std::int32_t> codes;

  std::int64_t count() const { return static_cast<std::int64_t>(step.size()); }
  /// Codes of each sample.
  std::size_t coded() const { return step.empty() ? 0 : codes.size() / step.size(); }
  /// The divisor of the loss: the sum of the weights.
  double total_weight() const;
};

/// Samples of one task on one graph. `steps` is how many snapshots the embeddings are computed on.
struct TaskData {
  std::int64_t steps = 0;
  Samples train, test;
  Samples validation;              // empty where the task's split has no part for it
  std::vector<std::string> notes;  // how samples were drawn, where that bears on the metrics; for the row
  /// Reasons of metrics that cannot exist, by name, "" = all of the test samples: known before training. Those of the
  /// validation samples have the prefix `validation_`, which alone means all of these.
  std::map<std::string, std::string> absent;
  /// Metrics that no training changes, by name; those of the validation samples with `validation_` in front.
  /// Task::metric_samples has their numbers of samples.
  std::map<std::string, double> rules;
  ReferenceLevels levels;
  /// The SHA-256 of the file from which candidates of an evaluation were read; "" without one.
  std::string negatives_sha256;

  /// The reason why `metric` cannot exist, "" when it can.
  std::string why_absent(const std::string& metric) const;
  /// How many of the steps are trained on: up to the last one that a training sample reads.
  std::int64_t trained_steps() const;
};

/// How many samples read the embeddings of one step: pairs that are distinct edges of a step, pairs drawn uniformly
/// over the vertices, single vertices.
struct StepSamples {
  Step step = 0;
  std::int64_t edges = 0, pairs = 0, vertices = 0;
  std::int64_t count() const { return edges + pairs + vertices; }
};

/// The number of samples of a graph that is known only by its shape.
struct CountedSamples {
  int arity = 1;
  double edge_share = 0;  // probability with which an edge is a sample
  std::vector<StepSamples> steps;
};

struct TaskCounts {
  std::int64_t steps = 0;
  CountedSamples train, test;
};

class Task {
 public:
  virtual ~Task() = default;
  /// Draws the samples from the raw graph. Throws InvalidRequest when the graph has too few steps for the task, or not
  /// the labels or values that it needs.
  virtual TaskData draw(const SnapshotGraph& graph, std::uint64_t seed) const = 0;
  /// Whether it draws samples from the events that the graph's steps were cut from: then `draw` refuses, and this is
  /// called with the events, whose vertices are the graph's.
  virtual bool wants_events() const { return false; }
  virtual TaskData draw_of_events(const SnapshotGraph& graph, const EventGraph& events, std::uint64_t seed) const;
  /// The number of samples that `draw` would give on a graph of this shape, whose vertices, steps and edges are known.
  /// Throws InvalidRequest when the shape lacks a fact that the task needs.
  virtual TaskCounts count(const GraphStatistics& shape) const;
  virtual std::vector<ParameterShape> parameters(std::int64_t embedding_width) const = 0;
  /// Outputs [n, classes], logits or the values of a regression, from this rank's embeddings [R, width]: sample i reads
  /// rows lists[0][i], ..., lists[arity - 1][i], each list i64 [n, 1] (gather_rows and gathered_dense of
  /// models/ops/ops.hpp). Lists of the samples' codes follow.
  virtual Var head(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
                   std::int64_t count) const = 0;
  /// Width of the head's output; 1 in a regression.
  virtual std::int64_t classes() const = 0;
  virtual Loss loss() const { return Loss::cross_entropy; }
  /// Named metrics from all test outputs [n, classes], row-major, in the order of the test samples.
  virtual std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples& test) const = 0;
  /// Names that `metrics` returns.
  virtual std::vector<std::string> metric_names() const = 0;
  /// Over how many of the test samples each metric is taken, by name.
  virtual std::map<std::string, std::int64_t> metric_samples(const Samples& test) const = 0;
  /// Events of an evaluation that are scored with the embeddings of one step; 0 of tasks that are not judged on events.
  virtual std::int64_t evaluation_batch() const { return 0; }
  /// For tasks that are judged on events: the scores of `judged`, event by event, as `append_scores` of
  /// future_links/ranking.hpp lists them; else empty.
  virtual std::vector<double> scores(const std::vector<double>& /*outputs*/, const Samples& /*judged*/) const {
    return {};
  }
  /// Notes for the row about the curves of metrics (one value an epoch), and the levels of TaskData.
  virtual std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& /*metrics*/,
                                           const ReferenceLevels& /*levels*/) const {
    return {};
  }
};

/// The samples of `task` on `graph`, drawn from `events` where the task requests them and there are any.
TaskData draw_samples(const Task& task, const SnapshotGraph& graph, const EventGraph* events, std::uint64_t seed);

struct TaskTag {
  static constexpr const char* kind = "task";
  using Make = std::unique_ptr<Task> (*)(const Json& parameters);
  /// As ModelTag::Value: a task on snapshots, one of another family, or of both.
  struct Value {
    Value() = default;
    template <class Maker>
    requires std::is_convertible_v<Maker, Make> Value(Maker makes, std::vector<std::string> serves = {"snapshots"})
        : make(makes), families(std::move(serves)) {}
    explicit Value(std::string other) : families{std::move(other)} {}
    std::unique_ptr<Task> operator()(const Json& parameters) const { return make(parameters); }
    bool serves(const std::string& family) const {
      return std::find(families.begin(), families.end(), family) != families.end();
    }
    Make make = nullptr;  // null where models of snapshots are not served
    std::vector<std::string> families = {"snapshots"};
  };
};
using TaskRegistry = Registry<TaskTag>;

/// The levels of `metric` (validation_mrr, ...) for a task on snapshots: those that it knows when it draws, and the
/// best of the rules that its metrics state whatever a model says. Costs one evaluation on the host.
ReferenceLevels reference_levels(const std::string& metric, const Task& task, const TaskData& data);

/// Names of the tasks that serve models of `family`, sorted.
std::vector<std::string> tasks_for(const std::string& family);

}  // namespace strobe
