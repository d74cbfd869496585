// Mean and deviation are taken in two passes over the cells in their order, so they do not depend on ranks or threads.
#include "workloads/preparation/feature_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/joined_fields.hpp"

namespace strobe {

const std::vector<std::string>& feature_scale_choices() {
  static const std::vector<std::string> choices = {"auto", "none", "log1p", "standardise"};
  return choices;
}

const FieldTable& feature_scale_fields() {
  static const FieldTable table = make_fields<FeatureScaleOption>().choice(
      "feature_scale", &FeatureScaleOption::feature_scale, feature_scale_choices(), feature_scale_help);
  return table;
}

FieldTable with_feature_scale(const FieldTable& own) { return joined_fields({own, feature_scale_fields()}); }

Json without_feature_scale(const Json& parameters) {
  Json own = parameters;
  if (own.is_object()) own.erase("feature_scale");
  return own;
}

FeatureMeasures measure_features(const SnapshotGraph& graph, std::int64_t steps, bool exact, const Presence* presence) {
  const FeatureScale features(graph, "none", 0, exact);
  const auto width = static_cast<std::size_t>(graph.feature_width);
  steps = std::clamp<std::int64_t>(steps, 1, graph.steps());
  const auto for_each = [&](const auto& visit) {
    std::size_t i = 0;
    for (Step t = 0; t < steps; ++t) {
      for (VertexId v = 0; v < graph.vertices; ++v, i += width) {
        if (presence != nullptr && !presence->exists(v, t)) continue;
        for (std::size_t f = 0; f < width; ++f) visit(f, features.raw(i + f));
      }
    }
  };
  double count = static_cast<double>(steps * graph.vertices);
  if (presence != nullptr) {
    std::int64_t existing = 0;
    for (Step t = 0; t < steps; ++t) existing += presence->count(t);
    count = static_cast<double>(std::max<std::int64_t>(existing, 1));  // without cells all sums are 0
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> least(width, infinity), most(width, -infinity), mean(width, 0.0), squares(width, 0.0);
  for_each([&](std::size_t f, double x) {
    mean[f] += x;
    least[f] = std::min(least[f], x);
    most[f] = std::max(most[f], x);
  });
  for (double& sum : mean) sum /= count;
  for_each([&](std::size_t f, double x) { squares[f] += (x - mean[f]) * (x - mean[f]); });
  std::vector<double> factor(width, 0.0);
  for (std::size_t f = 0; f < width; ++f) {
    if (least[f] < most[f]) factor[f] = 1 / std::sqrt(squares[f] / count);
  }
  return {std::move(mean), std::move(factor)};
}

FeatureScale::FeatureScale(const SnapshotGraph& graph, const std::string& kind, std::int64_t steps, bool exact,
                           std::shared_ptr<const Presence> presence)
    : FeatureScale(graph, kind,
                   kind == "standardise" ? measure_features(graph, steps, exact, presence.get()) : FeatureMeasures(),
                   exact, presence) {}

FeatureScale::FeatureScale(const SnapshotGraph& graph, const std::string& kind, FeatureMeasures measures, bool exact,
                           std::shared_ptr<const Presence> presence)
    : graph_(graph),
      kind_(kind),
      exact_(exact && !graph.exact_features.empty()),
      presence_(std::move(presence)),
      measures_(std::move(measures)) {
  const std::vector<std::string> kinds = {"none", "log1p", "standardise"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw InvalidRequest("feature_scale", unknown_name_message("scale of features", kind, kinds));
}

std::vector<double> FeatureScale::step(std::int64_t t) const {
  const std::size_t width = graph_.feature_width;
  std::vector<double> x(static_cast<std::size_t>(graph_.vertices) * width);
  const std::size_t first = static_cast<std::size_t>(t) * x.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (presence_ != nullptr && !presence_->exists(static_cast<VertexId>(i / width), static_cast<Step>(t))) continue;
    const double value = raw(first + i);
    if (kind_ == "log1p")
      x[i] = std::copysign(std::log1p(std::abs(value)), value);
    else if (kind_ == "standardise")
      x[i] = (value - measures_.mean[i % width]) * measures_.factor[i % width];
    else
      x[i] = value;
  }
  return x;
}

}  // namespace strobe
