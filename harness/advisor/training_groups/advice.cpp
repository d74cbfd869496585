// Finds the inputs of DistTGL's rule and looks up the rule's choice among simulated points.
// Invariant: points that differ only in i, j, k and batch belong to one place. Cost: one simulated run of one GPU per
// cluster, choice and batch tried, two counts of mails per batch, and nothing for ranks and nodes.
#include "harness/advisor/training_groups/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "backends/cluster.hpp"
#include "core/units.hpp"
#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/request/schedule_tag.hpp"

namespace strobe {
namespace {

using Choices = std::vector<std::pair<std::string, std::string>>;

/// Parameters that the rule chooses, with their names in settings.
const std::set<std::string> chosen_by_rule = {"i",          "j",          "k",          "batch",
                                              "strategy.i", "strategy.j", "strategy.k", "strategy.batch"};

bool trains_in_groups(const PlanPoint& point) {
  const std::vector<std::string>& names = event_group_names();
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return point.request.strategy.contains(name); });
}

/// The choices that all points of one place share.
using Place = std::tuple<std::string, int, std::int64_t, Choices>;

Choices without_chosen(Choices choices) {
  std::erase_if(choices, [](const auto& choice) { return chosen_by_rule.count(choice.first) > 0; });
  return choices;
}

Place place_of(const PlanPoint& point) {
  return {point.cluster, point.nodes, point.request.ranks, without_chosen(point.choices)};
}

/// Whether the user chooses one of these parameters of the strategy, through any option.
bool user_chooses(const PlanSpace& space, const std::set<std::string>& names) {
  const auto set = [&](const auto& setting) {
    return setting.path.rfind("strategy.", 0) == 0 && names.count(setting.path.substr(9)) > 0;
  };
  const auto given = [&](const StrategyChoice& strategy) {
    return std::any_of(strategy.parameters.begin(), strategy.parameters.end(),
                       [&](const auto& parameter) { return names.count(parameter.first) > 0; });
  };
  return std::any_of(space.settings.begin(), space.settings.end(), set) ||
         std::any_of(space.knobs.begin(), space.knobs.end(), set) ||
         std::any_of(space.strategies.begin(), space.strategies.end(), given);
}

std::int64_t batch_of(const PlanPoint& point) { return point.request.strategy.at("batch").get<std::int64_t>(); }

PlanPoint with_batch(PlanPoint point, std::int64_t batch) {
  point.request.strategy["batch"] = batch;
  point.choices.emplace_back("batch", std::to_string(batch));
  name_point(point);
  return point;
}

/// The inputs of the rule that a place's points share, except the cluster.
struct Study {
  std::shared_ptr<EventCase> events;
  CapturedEvents captured;
  std::vector<std::int64_t> batches;  // of one rank, ascending
  bool batch_given = false;
  std::uint64_t data_bytes = 0;
};

/// Batches of one rank that may saturate a GPU: the user's batches, or else 100 times powers of two up to all events.
std::vector<std::int64_t> batches_of(const std::vector<PlanPoint>& points, bool given, EdgeId events) {
  std::set<std::int64_t> batches;
  for (const PlanPoint& point : points) {
    if (given && trains_in_groups(point) && batch_of(point) <= events) batches.insert(batch_of(point));
  }
  for (std::int64_t batch = 100; !given && batch <= events; batch *= 2) batches.insert(batch);
  if (batches.empty()) batches.insert(events);
  return {batches.begin(), batches.end()};
}

/// The point's case on one rank.
Case alone(const PlanPoint& point, std::int64_t batch) {
  Case c = point.request;
  c.ranks = 1;
  c.cluster = point.cluster;
  for (const char* name : {"i", "j", "k"}) c.strategy[name] = 1;
  c.strategy["batch"] = batch;
  return c;
}

Study begin_study(const PlanPoint& point, const std::vector<PlanPoint>& points, bool batch_given,
                  const DataCache& cache) {
  auto events = std::make_shared<EventCase>(begin_event_case(alone(point, 1), cache));
  CapturedEvents captured(events->training.graph, events->training_events());
  std::vector<std::int64_t> batches = batches_of(points, batch_given, captured.events());
  const std::uint64_t data_bytes = events->kept_bytes();
  return {std::move(events), std::move(captured), std::move(batches), batch_given, data_bytes};
}

Saturation saturate(const Study& study, const PlanPoint& point, const DataCache& cache) {
  return find_saturation(study.batches, [&](std::int64_t batch) -> BatchRate {
    PlanPoint one = point;
    one.request = alone(point, batch);
    one.nodes = 1;
    const PlanOutcome outcome = evaluate({one}, 1, 1, {}, nullptr, cache).front();
    if (outcome.status != "ok") return {batch, 0, outcome.reason};
    return {batch, static_cast<double>(study.captured.events()) / outcome.epoch_seconds, ""};
  });
}

/// The largest batch, up to the saturating one, that gives every rank at least one batch, because an epoch needs an
/// update. 0: none.
std::int64_t batch_for_all(const Study& study, std::int64_t saturating, std::int64_t ranks) {
  const auto serves = [&](std::int64_t batch) { return (study.captured.events() + batch - 1) / batch >= ranks; };
  if (study.batch_given) {
    std::int64_t largest = 0;
    for (const std::int64_t batch : study.batches) largest = batch <= saturating && serves(batch) ? batch : largest;
    return largest;
  }
  std::int64_t batch = saturating;
  while (!serves(batch) && batch % 2 == 0) batch /= 2;
  return serves(batch) ? batch : 0;
}

std::string loss_text(const BatchLoss& loss, const LossLimits& limits) {
  std::string text = fmt::format("a batch of {} misses {:.1f} %", loss.batch, 100 * loss.missing_share);
  if (limits.hub_missing_share) text += fmt::format(" and of hubs {:.1f} %", 100 * loss.hub_missing_share);
  return text;
}

std::string limits_text(const LossLimits& limits) {
  std::string text = fmt::format("{:g} %", 100 * limits.missing_share);
  if (limits.hub_missing_share) text += fmt::format(" and of hubs {:g} %", 100 * *limits.hub_missing_share);
  return text;
}

/// Explains the choice of the largest batch.
std::string why_largest(const LargestBatch& largest, const LossLimits& limits) {
  const auto at = std::find_if(largest.tried.begin(), largest.tried.end(),
                               [&](const BatchLoss& loss) { return loss.batch == largest.batch; });
  std::string text =
      fmt::format("largest batch {}: {} of the mails of the training events", largest.batch, loss_text(*at, limits));
  if (!largest.allowed)
    return text + fmt::format(", more than the {} allowed, and no smaller batch is tried", limits_text(limits));
  text += fmt::format("; {} may be missing", limits_text(limits));
  return at + 1 == largest.tried.end() ? text + ", and no larger batch is tried"
                                       : text + fmt::format(", and {}", loss_text(*(at + 1), limits));
}

/// Sets c, and returns the sentence about it.
std::string bound_copies(const Study& study, GroupAdvice& advice) {
  const std::uint64_t host = load_cluster(advice.cluster)->host.memory_bytes;
  if (host == 0)
    return fmt::format(
        "copies: the cluster file of {} does not give a host's memory (host.memory_bytes), so k has no upper bound",
        advice.cluster);
  auto one = std::make_shared<EventCase>(*study.events);
  one->options.batch = local_batch_of(advice.limits);
  const MemoryShape shape = memory_shape(*one);
  const std::int64_t i = ranks_of_batch(advice.limits);
  advice.limits.copies = copies_within(host, study.data_bytes, shape, i, advice.limits.gpus);
  const std::int64_t copies = std::max<std::int64_t>(1, *advice.limits.copies);
  const std::uint64_t bytes = bytes_of_copy({i, advice.limits.gpus / i / copies, copies}, shape);
  return fmt::format(
      "copies: a host has {} and the events take {}; with {} on a host, each copy takes {} with its mails and its "
      "daemon's buffers",
      format_bytes(static_cast<double>(host)), format_bytes(static_cast<double>(study.data_bytes)), copies,
      format_bytes(static_cast<double>(bytes)));
}

/// Fills in limits and choice of a place whose saturation is known.
void apply_rule(const Study& study, const LossLimits& limits, GroupAdvice& advice) {
  GroupLimits& given = advice.limits;
  given.machines = advice.nodes;
  given.gpus = advice.ranks / advice.nodes;
  advice.assumptions.push_back(fmt::format("saturation: {}", advice.saturation.why));
  given.saturating_batch =
      advice.saturation.batch == 0 ? 0 : batch_for_all(study, advice.saturation.batch, advice.ranks);
  if (given.saturating_batch == 0) {
    advice.refusal = advice.saturation.batch == 0
                         ? advice.saturation.why
                         : fmt::format("{} events make fewer batches than {} ranks, so an epoch would have no update",
                                       study.captured.events(), advice.ranks);
    return;
  }
  const bool fewer = given.saturating_batch < advice.saturation.batch;
  if (fewer)
    advice.assumptions.push_back(fmt::format("{} ranks share {} events, so a batch has at most {} events", advice.ranks,
                                             study.captured.events(), given.saturating_batch));
  advice.largest = largest_batch(study.captured, limits, given.saturating_batch, !study.batch_given);
  given.largest_batch = advice.largest.batch;
  advice.assumptions.push_back(why_largest(advice.largest, limits));
  advice.assumptions.push_back(bound_copies(study, advice));
  advice.choice = choose_groups(given);
  if (fewer)
    advice.choice.why.front() = fmt::format(
        "batch = {}: the {}, below the {} that saturate a GPU", advice.choice.local_batch,
        given.largest_batch < given.saturating_batch ? "largest allowed" : "largest that gives every rank a batch",
        advice.saturation.batch);
  if (!advice.choice.groups) advice.refusal = advice.choice.why.back();
}

/// Batches for simulating a place's points: the rule's, and twice that if every rank still has one.
std::vector<std::int64_t> batches_beside(const Study& study, const GroupAdvice& advice) {
  if (!advice.choice.groups) return {};
  const std::int64_t local = advice.choice.local_batch;
  if ((study.captured.events() + 2 * local - 1) / (2 * local) < advice.ranks) return {local};
  return {local, 2 * local};
}

/// Points with the batches of their place. Points of other strategies for events get all batches of their cluster.
std::vector<PlanPoint> with_batches(const std::vector<PlanPoint>& points,
                                    const std::map<Place, std::vector<std::int64_t>>& batches) {
  std::map<std::pair<std::string, Choices>, std::set<std::int64_t>> of_cluster;
  for (const auto& [place, some] : batches)
    of_cluster[{std::get<0>(place), std::get<3>(place)}].insert(some.begin(), some.end());
  std::vector<PlanPoint> longer;
  for (const PlanPoint& point : points) {
    std::set<std::int64_t> own;
    if (trains_in_groups(point))
      own.insert(batches.at(place_of(point)).begin(), batches.at(place_of(point)).end());
    else if (const auto all = of_cluster.find({point.cluster, without_chosen(point.choices)}); all != of_cluster.end())
      own = all->second;
    for (const std::int64_t batch : own) longer.push_back(with_batch(point, batch));
    if (own.empty()) longer.push_back(point);
  }
  return longer;
}

/// Keeps only the points with the search's first batch, because the rule finds other batches.
void leave_out_searched_batches(std::vector<PlanPoint>& points) {
  const std::string first = searched_event_batches(false).front();
  const auto batch = [](const auto& choice) { return choice.first == "batch"; };
  std::erase_if(points, [&](const PlanPoint& point) {
    return std::any_of(point.choices.begin(), point.choices.end(),
                       [&](const auto& choice) { return batch(choice) && choice.second != first; });
  });
  for (PlanPoint& point : points) {
    if (std::erase_if(point.choices, batch) > 0) name_point(point);
  }
}

std::int64_t number_of(const PlanPoint& point, const char* name) {
  return point.request.strategy.at(name).get<std::int64_t>();
}

bool is_rules(const GroupAdvice& advice, const PlanPoint& point) {
  return advice.choice.groups && number_of(point, "i") == advice.choice.groups->i &&
         number_of(point, "j") == advice.choice.groups->j && batch_of(point) == advice.choice.local_batch;
}

void take_faster(const PlanOutcome& outcome, const PlanOutcome*& fastest) {
  if (fastest == nullptr || outcome.epoch_seconds < fastest->epoch_seconds) fastest = &outcome;
}

}  // namespace

std::string rule_refusal(const PlanSpace& space, const std::vector<PlanPoint>& points) {
  const Case& any = points.front().request;
  const std::string model = any.model.at("name").get<std::string>();
  if (family_of(any.model) != "events")
    return fmt::format("model {} trains on snapshots, which have no mails; choose a model of events, such as tgn-attn",
                       model);
  if (EventModelRegistry::instance().find(model, "/model").value(any.model)->traits().memory == 0)
    return fmt::format(
        "model {} keeps no node memory, so no mails can be missed; choose a model with memory, such as tgn-attn",
        model);
  if (std::none_of(points.begin(), points.end(), trains_in_groups))
    return "the rule chooses the groups of strategy event_batch, and this search does not try that strategy on several "
           "GPUs";
  if (user_chooses(space, {"i", "j", "k", "memory_on"}))
    return "i, j, k or memory_on are given, so the rule has nothing to choose; leave them out";
  return "";
}

GroupPlanAdvice advise_groups(const PlanSpace& space, const LossLimits& limits, std::vector<PlanPoint>& points,
                              const DataCache& cache) {
  GroupPlanAdvice all;
  all.limits = limits;
  const bool batch_given = user_chooses(space, {"batch"});
  if (!batch_given) leave_out_searched_batches(points);
  std::map<Choices, Study> studies;
  std::map<std::pair<std::string, Choices>, Saturation> saturations;
  std::map<Place, std::vector<std::int64_t>> batches;
  for (const PlanPoint& point : points) {
    if (!trains_in_groups(point) || batches.count(place_of(point)) > 0) continue;
    const Choices choices = without_chosen(point.choices);
    auto study = studies.find(choices);
    if (study == studies.end()) study = studies.emplace(choices, begin_study(point, points, batch_given, cache)).first;
    auto saturation = saturations.find({point.cluster, choices});
    if (saturation == saturations.end())
      saturation = saturations.emplace(std::pair(point.cluster, choices), saturate(study->second, point, cache)).first;
    GroupAdvice advice{
        point.cluster, point.nodes, point.request.ranks, choices, {}, {}, saturation->second, {}, {}, ""};
    apply_rule(study->second, limits, advice);
    batches[place_of(point)] = batches_beside(study->second, advice);
    all.places.push_back(std::move(advice));
  }
  if (!batch_given) points = with_batches(points, batches);
  return all;
}

std::int64_t whole_batch_of(const PlanPoint& point) { return number_of(point, "i") * batch_of(point); }

AdviceOutcome outcome_of(const GroupAdvice& advice, const std::vector<PlanOutcome>& outcomes) {
  AdviceOutcome found;
  const Place place{advice.cluster, advice.nodes, advice.ranks, advice.choices};
  for (const PlanOutcome& outcome : outcomes) {
    if (!trains_in_groups(outcome.point) || place_of(outcome.point) != place) continue;
    ++found.simulated;
    if (is_rules(advice, outcome.point)) found.rule = &outcome;
    if (outcome.status != "ok") continue;
    take_faster(outcome, found.fastest);
    if (whole_batch_of(outcome.point) <= advice.limits.largest_batch) take_faster(outcome, found.fastest_within);
  }
  return found;
}

}  // namespace strobe
