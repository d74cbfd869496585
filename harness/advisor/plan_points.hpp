// The search space of `strobe plan`: strategies x clusters x node counts x knobs, as cases.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/advisor/open_settings.hpp"
#include "harness/request/suite.hpp"

namespace strobe {

/// A setting with several values to try.
struct Knob {
  std::string path;  // "nb", "model.window"
  std::vector<std::string> values;
  std::string origin;  // the option as typed
};

/// A strategy or a model, with the parameters that the user fixed.
struct StrategyChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
};

struct PlanSpace {
  std::vector<Setting> settings;           // for every case: workload, model, ...
  std::vector<StrategyChoice> strategies;  // empty = every strategy with its variants
  std::vector<std::string> clusters;       // names or files, possibly followed by changes; empty = all built-in ones
  std::vector<int> nodes;                  // empty = 1, 2, 4, ... and all nodes of each cluster
  std::vector<int> gpus;                   // instead of nodes; each cluster takes the counts that suit_nodes
  std::vector<Knob> knobs;
  /// Several models, each searched with the strategies that train it. Options about steps are left out for models of
  /// events. Empty = the model of `settings`.
  std::vector<StrategyChoice> models;
  bool until_metric = false;  // jobs last until a metric, so epochs may differ in length
  bool paper_sizes = false;   // a model without sizes gets those of its paper
};

/// One point: a case on some nodes of a cluster. It uses all their GPUs, except that `sequential` uses one. On a single
/// node, powers of two below all its GPUs are also points.
struct PlanPoint {
  std::string id;  // "aimos-v100/4x8/snapshot/nb=2": unique, the same for the same request
  Case request;
  std::string cluster;  // as the user requested it
  int nodes = 1;
  std::vector<std::pair<std::string, std::string>> choices;  // other choices than strategy, cluster and nodes
  std::vector<OpenSetting> open = {};  // at their first values; the search may still change them (plan_search.hpp)
};

/// Sets the point's id from its place, strategy and choices.
void name_point(PlanPoint& point);

/// The point with another value of one of its open settings.
PlanPoint with_setting(PlanPoint point, const std::string& name, const std::string& value);

/// All points, in the order models, strategies, knobs, clusters, nodes. Node counts above the cluster's own extrapolate
/// it. Throws InvalidRequest for unknown names and for settings that the search itself decides.
///
/// The search tries these variants of a strategy, unless the user chooses:
/// - one per partitioner for a parameter `partitioner` (for a shape only hash);
/// - one per power of two for `group_size`; `chunk` has lists of its own;
/// - with more than two such parameters, all combinations only if the user names the strategy; else one change at a
/// time;
/// - if parameters depend on ranks, one per way at each number of ranks (StrategyTag::SearchedAt).
/// Settings whose epochs do not bound each other (`nb`) are tried in every combination. Other settings with values to
/// try are left open in the points, at their first values.
std::vector<PlanPoint> plan_points(const PlanSpace& space);

}  // namespace strobe
