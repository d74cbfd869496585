// The search space of `strobe plan`: strategies x clusters x node counts x knobs, as cases.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/advisor/open_settings.hpp"
#include "harness/request/suite.hpp"

namespace strobe {

/// A setting that is tried with several values.
struct Knob {
  std::string path;  // "nb", "model.window"
  std::vector<std::string> values;
  std::string origin;  // the option as typed
};

/// A strategy, or a model, with those of its parameters that the user fixed.
struct StrategyChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
};

struct PlanSpace {
  std::vector<Setting> settings;           // of every case: workload, model, ...
  std::vector<StrategyChoice> strategies;  // empty = every strategy with its variants
  std::vector<std::string> clusters;       // names, files, either with changes behind them; empty = all built-in ones
  std::vector<int> nodes;                  // empty = 1, 2, 4, ... and all nodes of each cluster
  std::vector<Knob> knobs;
  /// Several models, each a search of its own: the strategies that train it; options of steps go where a model reads
  /// events. Empty = the one of `settings`.
  std::vector<StrategyChoice> models;
  bool until_metric = false;  // jobs last until a metric, so epochs need not be alike
};

/// One point: a case on so many nodes of a cluster, all of whose GPUs work (but one for the strategy `sequential`, and
/// powers of two below a whole node).
struct PlanPoint {
  std::string id;  // "aimos-v100/4x8/snapshot/nb=2": unique, the same for the same request
  Case request;
  std::string cluster;  // as asked for
  int nodes = 1;
  std::vector<std::pair<std::string, std::string>> choices;  // what varies beside strategy, cluster and nodes
  std::vector<OpenSetting> open = {};  // that the search may still change (plan_search.hpp), at their first values
};

/// Gives the point its id, by where it runs, its strategy and its choices.
void name_point(PlanPoint& point);

/// The point with another value of one of its open settings.
PlanPoint with_setting(PlanPoint point, const std::string& name, const std::string& value);

/// All points, in the order models, strategies, knobs, clusters, nodes. Without a choice of the user's, a strategy with
/// a parameter `partitioner` comes once per partitioner (of a shape: once, with hash), one with `group_size` once per
/// power of two, `chunk` by its own lists. A strategy with more
/// than two such parameters comes in all combinations where it is named, and else with one of them changed at a time. A
/// strategy whose parameters depend on the ranks comes once per way at each number of ranks (StrategyTag::SearchedAt).
/// Of settings with values to try, those of which no epoch bounds another's (`nb`) come in every combination; the
/// others are left open in the points, at their first values.
/// Counts above a cluster's own nodes extrapolate it. Throws InvalidRequest for unknown names and for settings that the
/// search itself decides.
std::vector<PlanPoint> plan_points(const PlanSpace& space);

}  // namespace strobe
