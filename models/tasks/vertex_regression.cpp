// Vertex regression: a number of a vertex from its embedding at a step, with the mean squared error. The number is the
// workload's target of that cell (NaN = no sample), or log(1 + d) of the degree d that the vertex has at the next step.
// The degree counts distinct neighbours, self-loops included (DynaHB's task, with the degrees of the vertex itself). In
// and out are those of the data's edges, however the workload's `orientation` stores them; under orientation=both a row
// lists all neighbours, and there is only one degree. The first `train_share` of the steps is trained on, the rest is
// tested; or `split` gives the parts for training, validation and test. The trivial baseline predicts the last value:
// log(1 + d) of the step itself, or the workload's last target before that was measured; its errors leave out cells
// without one. All metrics are masked: they are over cells with a target.
// Invariant: samples depend on the graph only, not on the seed. Cost O(N T + nnz).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "models/ops/ops.hpp"
#include "models/tasks/vertex_samples.hpp"

namespace strobe {
namespace {

struct VertexRegressionParameters {
  std::string target = "auto";
  std::string degree = "in";
  double train_share = 0.7;
  std::string cells = "auto";
  std::string split;
};

const FieldTable& vertex_regression_fields() {
  using P = VertexRegressionParameters;
  static const FieldTable table =
      make_fields<P>()
          .choice("target", &P::target, {"auto", "degree", "workload"},
                  "log(1 + degree) at the next step, or the workload's targets; auto = these where it has them")
          .choice("degree", &P::degree, {"in", "out", "both"},
                  "which degree; both = their sum, or all distinct neighbours with orientation=both")
          .real("train_share", &P::train_share, "", "share of the steps, from the first, that is trained on", 0.0, 1.0)
          .choice("cells", &P::cells, {"auto", "active", "all"},
                  "which vertices of a step are samples: those with an edge there, or all; auto = all with the "
                  "workload's targets")
          .text("split", &P::split, split_help);
  return table;
}

/// The degree of stored rows (in) or columns (out) that is the data's degree `which`.
std::string stored_degree(const std::string& which, const std::string& orientation) {
  if (orientation == "both") return "in";
  if (orientation == "in" || which == "both") return which;
  return which == "in" ? "out" : "in";
}

/// log(1 + degree) of each vertex: [N].
std::vector<double> log_degrees(const Snapshot& snapshot, std::int64_t vertices, const std::string& which) {
  std::vector<double> degree(vertices, 0.0);
  for (std::size_t v = 0; which != "out" && v < degree.size(); ++v) {
    degree[v] = static_cast<double>(snapshot.row_offsets[v + 1] - snapshot.row_offsets[v]);
  }
  if (which != "in") {
    for (const VertexId u : snapshot.columns) degree[u] += 1.0;
  }
  for (double& value : degree) value = std::log1p(value);
  return degree;
}

class VertexRegression final : public Task {
 public:
  explicit VertexRegression(const VertexRegressionParameters& parameters) : p_(parameters) {}

  TaskData draw(const SnapshotGraph& graph, std::uint64_t) const override {
    const bool own = p_.target == "workload" || (p_.target == "auto" && !graph.targets.empty());
    if (own && graph.targets.empty()) {
      const bool classes = !graph.vertex_label.empty() || !graph.cell_label.empty();
      throw InvalidRequest("/task/target", std::string("this workload has no targets of its own") +
                                               (classes ? ", but classes, which vertex-classification predicts" : "") +
                                               "; set task.target=degree");
    }
    if (own && p_.degree != VertexRegressionParameters().degree) {
      throw InvalidRequest("/task/degree",
                           "the targets are the workload's own, not degrees; leave degree out, or set target=degree");
    }
    const std::string degree = stored_degree(p_.degree, graph.orientation);
    TaskData data;
    data.steps = own ? graph.steps() : graph.steps() - 1;
    const StepSplit split = split_of(data.steps);
    std::vector<double> now(graph.vertices, std::numeric_limits<double>::quiet_NaN());
    if (!own) now = log_degrees(*graph.snapshots[0], graph.vertices, degree);
    GrowingParts parts;
    for (Step t = 0; t < data.steps; ++t) {
      std::vector<double> next =
          own ? own_targets(graph, t)
              : log_degrees(*graph.snapshots[static_cast<std::size_t>(t) + 1], graph.vertices, degree);
      draw_step(graph, t, own, now, next, parts.of_step(split, t));
      for (std::size_t v = 0; v < next.size(); ++v)
        if (!std::isnan(next[v])) now[v] = next[v];  // an unmeasured value leaves the one before it
    }
    parts.finish(data);
    if (data.train.count() == 0 || data.test.count() == 0) {
      throw InvalidRequest(p_.split.empty() ? "/task/train_share" : "/task/split",
                           std::string("the ") + (data.train.count() == 0 ? "training" : "test") +
                               " steps have no vertex with a target");
    }
    if (split.validation > 0) explain("validation", data.validation, data);
    explain("test", data.test, data);
    return data;
  }

  TaskCounts count(const GraphStatistics& shape) const override {
    if (p_.target == "workload") {
      throw InvalidRequest("/task/target", "the shape " + shape.name + " has no targets; set task.target=degree");
    }
    const std::vector<std::int64_t> edges = step_edges(shape);
    const std::int64_t steps = static_cast<std::int64_t>(edges.size()) - 1;
    const StepSplit split = split_of(steps);
    TaskCounts counts{steps, {1, 0, {}}, {1, 0, {}}};
    for (Step t = 0; t < steps; ++t) {
      const std::int64_t cells = p_.cells == "all" ? shape.vertices.value_or(0) : expected_active(shape, edges, t);
      if (t < split.train) counts.train.steps.push_back({t, 0, 0, cells});
      if (t >= split.train + split.validation) counts.test.steps.push_back({t, 0, 0, cells});
    }
    return counts;
  }

  std::vector<ParameterShape> parameters(std::int64_t embedding_width) const override {
    return {glorot("head.weight", embedding_width, 1), {"head.bias", 1, 1, 0.0}};
  }

  Var head(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
           std::int64_t count) const override {
    return gathered_dense(tape, embeddings, lists, count, parameters.at("head.weight"), parameters.at("head.bias"));
  }

  std::int64_t classes() const override { return 1; }
  Loss loss() const override { return Loss::squared_error; }

  std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples& test) const override {
    const RegressionError model = regression_error(outputs, test.value);
    const RegressionError last = regression_error(test.baseline.copy(), test.value, true);
    return {{"rmse", model.rmse},
            {"mae", model.mae},
            {"r2", model.r2},
            {"last_value_rmse", last.rmse},
            {"last_value_mae", last.mae}};
  }

  std::map<std::string, std::int64_t> metric_samples(const Samples& test) const override {
    const std::int64_t known = test.count() - count_nan(test.baseline);
    return {{"rmse", test.count()},
            {"mae", test.count()},
            {"r2", test.count()},
            {"last_value_rmse", known},
            {"last_value_mae", known}};
  }

  std::vector<std::string> metric_names() const override {
    return {"rmse", "mae", "r2", "last_value_rmse", "last_value_mae"};
  }

 private:
  StepSplit split_of(std::int64_t steps) const {
    return vertex_split(steps, p_.split, p_.train_share, "vertex-regression");
  }

  static std::int64_t count_nan(const Column<double>& values) {
    return std::count_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  }

  /// Which metrics cannot exist and why, for the row.
  static void explain(const std::string& part, const Samples& samples, TaskData& data) {
    const std::string prefix = part == "test" ? "" : part + "_";
    if (samples.count() == 0) {
      data.absent[prefix] = "the " + part + " steps have no vertex with a target";
      data.notes.push_back(data.absent[prefix]);
      return;
    }
    const auto [least, most] = std::minmax_element(samples.value.begin(), samples.value.end());
    if (*least == *most) {
      data.absent[prefix + "r2"] =
          fmt::format("all {} {} targets are {:.6g}, so r2 is not defined: it compares with their spread",
                      samples.count(), part, *least);
      data.notes.push_back(data.absent[prefix + "r2"]);
    }
    if (count_nan(samples.baseline) < samples.count()) return;
    for (const char* name : {"last_value_rmse", "last_value_mae"})
      data.absent[prefix + name] = "no " + part + " sample has a value measured before it";
  }

  /// Vertices with an edge at step t: as counted, or when the ends of edges fall on vertices uniformly.
  static std::int64_t expected_active(const GraphStatistics& shape, const std::vector<std::int64_t>& edges, Step t) {
    const std::size_t step = t;
    if (!shape.active_vertices_per_step.empty()) return shape.active_vertices_per_step[step];
    const double vertices = shape.vertices.value_or(0);
    return std::llround(vertices * -std::expm1(-2 * static_cast<double>(edges[step]) / std::max(vertices, 1.0)));
  }

  /// Where the targets are the features of the next step, rounded to fp32, the exact features give the values before
  /// rounding.
  static std::vector<double> own_targets(const SnapshotGraph& graph, Step t) {
    const auto begin = graph.targets.begin() + t * graph.vertices, end = begin + graph.vertices;
    std::vector<double> targets(begin, end);
    if (graph.exact_features.empty() || graph.feature_width != 1 || t + 1 >= graph.steps()) return targets;
    const auto next = graph.exact_features.begin() + (t + 1) * graph.vertices;
    const auto rounds_to = [](float target, double value) { return target == static_cast<float>(value); };
    if (std::equal(begin, end, next, rounds_to)) std::copy_n(next, graph.vertices, targets.begin());
    return targets;
  }

  void draw_step(const SnapshotGraph& graph, Step t, bool own, const std::vector<double>& last,
                 const std::vector<double>& target, GrowingSamples& samples) const {
    const bool all = p_.cells == "all" || (p_.cells == "auto" && own);
    const std::vector<bool> active = all ? std::vector<bool>() : active_vertices(*graph.snapshots[t], graph.vertices);
    for (VertexId v = 0; v < graph.vertices; ++v) {
      const std::size_t i = v;
      if (std::isnan(target[i]) || (!all && !active[i])) continue;
      append_sample(samples, v, t, 0);
      samples.value.push_back(target[i]);
      samples.baseline.push_back(last[i]);
    }
  }

  VertexRegressionParameters p_;
};

const Register<TaskTag> vertex_regression_registered{{
    "vertex-regression",
    "a number of a vertex: its degree at the next step, or the workload's target",
    "DynaHB, VLDB'24 (regression of degrees); PyTorch Geometric Temporal, CIKM'21 (targets of its data sets)",
    vertex_regression_fields(),
    [](const Json& parameters) -> std::unique_ptr<Task> {
      return std::make_unique<VertexRegression>(
          from_json<VertexRegressionParameters>(vertex_regression_fields(), parameters, "/task"));
    },
    {},
}};

const RegisterNames vertex_regression_elsewhere{
    "task", {{"node-regression", "vertex-regression", "type --task vertex-regression"}}};

}  // namespace
}  // namespace strobe
