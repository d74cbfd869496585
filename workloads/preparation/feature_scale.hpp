// Features on the scale that a model is asked to read them on. Degrees reach thousands; a softmax or a gate over such
// inputs is saturated from the start, its gradients are rounding noise, and Adam divides noise by noise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "workloads/graph/graph.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {

/// The option `feature_scale`, which every workload has: auto, none, log1p or standardise.
struct FeatureScaleOption {
  std::string feature_scale = "auto";
};
const std::vector<std::string>& feature_scale_choices();
inline constexpr char feature_scale_help[] =
    "features as they are, as sign(x) log(1 + |x|), or with mean 0 and deviation 1 over the training steps; auto: "
    "degrees as the model needs them, other features as they are";
const FieldTable& feature_scale_fields();

/// Returns `own` with feature_scale added after its fields.
FieldTable with_feature_scale(const FieldTable& own);

/// `parameters` of a workload without feature_scale.
Json without_feature_scale(const Json& parameters);

/// Mean and 1 / deviation of each column of features, as `standardise` applies them. [F]
struct FeatureMeasures {
  std::vector<double> mean, factor;
};

/// The measures over the existing cells of the first `steps` steps. The sum of a column has the fixed order of its
/// cells, so it is the same on any number of processes. Cost O(steps N F).
FeatureMeasures measure_features(const SnapshotGraph& graph, std::int64_t steps, bool exact, const Presence* presence);

/// How the features of a graph are scaled, column by column:
///   none         x
///   log1p        sign(x) log(1 + |x|)
///   standardise  (x - mean) / deviation over all cells of the first `steps` steps, 0 where these are all equal
/// Computed in double, from exact features where `exact` asks for them and the graph has them. With `presence`, mean
/// and deviation are over cells that exist, and the features of others are 0. Cost O(steps N F).
class FeatureScale {
 public:
  /// Keeps a reference to `graph`. Throws InvalidRequest for an unknown `kind`.
  FeatureScale(const SnapshotGraph& graph, const std::string& kind, std::int64_t steps, bool exact,
               std::shared_ptr<const Presence> presence = nullptr);
  /// The same with measures that are known, which only `standardise` reads.
  FeatureScale(const SnapshotGraph& graph, const std::string& kind, FeatureMeasures measures, bool exact,
               std::shared_ptr<const Presence> presence);

  const SnapshotGraph& graph() const { return graph_; }
  /// Cells that exist; null: all.
  const std::shared_ptr<const Presence>& presence() const { return presence_; }
  bool changes() const { return kind_ != "none"; }
  /// Feature `i` of all [T * N * F], not scaled.
  double raw(std::size_t i) const {
    return exact_ ? graph_.exact_features[i] : static_cast<double>(graph_.features[i]);
  }
  /// X of step `t`, scaled. [N * F]
  std::vector<double> step(std::int64_t t) const;

 private:
  const SnapshotGraph& graph_;
  std::string kind_;
  bool exact_;
  std::shared_ptr<const Presence> presence_;
  FeatureMeasures measures_;
};

struct Preprocessing;
struct PreparedGraph;

/// `prepare` of preprocess.hpp for the graph and the cells of `scale`. Features are read as `scale` scales them;
/// Preprocessing::feature_scale is ignored.
PreparedGraph prepare_scaled(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64);

}  // namespace strobe
