// DistTGL's rule as advice of `strobe plan`: its options, and its choice as JSON and as text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/or_null.hpp"
#include "core/units.hpp"
#include "harness/advisor/training_groups/advice.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/option_text.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

Json count_or_null(std::int64_t count) { return count > 0 ? Json(count) : Json(nullptr); }

Json id_or_null(const PlanOutcome* outcome) { return outcome == nullptr ? Json(nullptr) : Json(outcome->point.id); }

/// Epoch time of the rule's configuration divided by that of another.
Json times_of(const AdviceOutcome& found, const PlanOutcome* other) {
  if (found.rule == nullptr || found.rule->status != "ok" || other == nullptr) return nullptr;
  return found.rule->epoch_seconds / other->epoch_seconds;
}

Json losses_json(const LargestBatch& largest) {
  Json losses = Json::array();
  for (const BatchLoss& loss : largest.tried)
    losses.push_back(
        {{"batch", loss.batch}, {"missing_share", loss.missing_share}, {"hub_missing_share", loss.hub_missing_share}});
  return losses;
}

Json rates_json(const Saturation& saturation) {
  Json rates = Json::array();
  for (const BatchRate& rate : saturation.tried)
    rates.push_back({{"batch", rate.batch},
                     {"events_per_second", rate.events_per_second > 0 ? Json(rate.events_per_second) : Json(nullptr)},
                     {"reason", or_null(rate.reason)}});
  return rates;
}

std::vector<std::string> steps_of(const GroupAdvice& place) {
  std::vector<std::string> steps = place.assumptions;
  steps.insert(steps.end(), place.choice.why.begin(), place.choice.why.end());
  return steps;
}

Json place_json(const GroupAdvice& place, const std::vector<PlanOutcome>& outcomes) {
  const AdviceOutcome found = outcome_of(place, outcomes);
  Json choices = Json::object();
  for (const auto& [key, value] : place.choices) choices[key] = value;
  Json json = {{"cluster", place.cluster},
               {"nodes", place.nodes},
               {"ranks", place.ranks},
               {"choices", choices},
               {"saturating_batch", count_or_null(place.limits.saturating_batch)},
               {"largest_batch", place.largest.tried.empty() ? Json(nullptr) : Json(place.largest.batch)},
               {"largest_batch_allowed", place.largest.allowed},
               {"copies", or_null(place.limits.copies)}};
  const bool chosen = place.choice.groups.has_value();
  json["i"] = chosen ? Json(place.choice.groups->i) : Json(nullptr);
  json["j"] = chosen ? Json(place.choice.groups->j) : Json(nullptr);
  json["k"] = chosen ? Json(place.choice.groups->k) : Json(nullptr);
  json["batch"] = chosen ? Json(place.choice.local_batch) : Json(nullptr);
  json["why"] = steps_of(place);
  json["refusal"] = or_null(place.refusal);
  json["point"] = id_or_null(found.rule);
  json["simulated"] = found.simulated;
  json["fastest"] = id_or_null(found.fastest);
  json["epoch_over_fastest"] = times_of(found, found.fastest);
  json["fastest_within"] = id_or_null(found.fastest_within);
  json["epoch_over_fastest_within"] = times_of(found, found.fastest_within);
  json["missing_by_batch"] = losses_json(place.largest);
  json["rate_by_batch"] = rates_json(place.saturation);
  return json;
}

std::string value_of(const PlanPoint& point, const char* name) { return point.request.strategy.at(name).dump(); }

/// Adds one line to the table: a configuration of a place.
void add_line(const GroupAdvice& place, const std::string& mark, const PlanOutcome* outcome, const PlanOutcome* rule,
              TextTable& table) {
  if (outcome == nullptr) return;
  const PlanPoint& point = outcome->point;
  const std::int64_t i = point.request.strategy.at("i").get<std::int64_t>(),
                     j = point.request.strategy.at("j").get<std::int64_t>();
  std::vector<std::string> choices;
  for (const auto& [key, value] : place.choices) choices.push_back(key + "=" + value);
  const bool ok = outcome->status == "ok", compared = ok && rule != nullptr && rule->status == "ok";
  table.add({place.cluster, std::to_string(place.nodes), std::to_string(place.ranks),
             fmt::format("{}", fmt::join(choices, " ")), mark, fmt::format("{}x{}x{}", i, j, place.ranks / (i * j)),
             value_of(point, "batch"), std::to_string(whole_batch_of(point)),
             ok ? format_seconds(outcome->epoch_seconds) : outcome->status,
             compared ? fmt::format("{:.2f}", outcome->epoch_seconds / rule->epoch_seconds) : "-",
             outcome->mails_lost_share ? fmt::format("{:.1f} %", 100 * *outcome->mails_lost_share) : "-"});
}

std::string places_table(const GroupPlanAdvice& advice, const std::vector<PlanOutcome>& outcomes) {
  TextTable table("cluster|nodes>|GPUs>|choices||i x j x k>|batch>|of i ranks>|epoch>|of the rule's>|mails missed>");
  for (const GroupAdvice& place : advice.places) {
    const AdviceOutcome found = outcome_of(place, outcomes);
    add_line(place, "rule", found.rule, found.rule, table);
    add_line(place, fmt::format("fastest of {}", found.simulated), found.fastest, found.rule, table);
    if (found.fastest_within != found.fastest)
      add_line(place, "fastest within the largest batch", found.fastest_within, found.rule, table);
  }
  return table.text();
}

/// The steps for one place of each cluster and choice: the one with most ranks.
std::string steps_text(const GroupPlanAdvice& advice) {
  std::map<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>, const GroupAdvice*> most;
  for (const GroupAdvice& place : advice.places) {
    const GroupAdvice*& kept = most[{place.cluster, place.choices}];
    if (kept == nullptr || place.ranks >= kept->ranks) kept = &place;
  }
  std::string text;
  for (const auto& [key, place] : most) {
    text += fmt::format("the rule on {} GPUs of {}", place->ranks, place->cluster);
    for (const auto& [name, value] : place->choices) text += fmt::format(" {}={}", name, value);
    text += fmt::format("\n  {}\n", fmt::join(steps_of(*place), "\n  "));
    if (!place->refusal.empty() && place->choice.why.empty()) text += fmt::format("  no choice: {}\n", place->refusal);
  }
  return text;
}

constexpr const char *missing = "max_missing", *missing_hubs = "max_missing_hubs";

std::shared_ptr<const PlanAdvice> advise(const PlanSpace& space, const std::map<std::string, std::string>& options,
                                         const DataCache& cache, std::vector<PlanPoint>& points) {
  LossLimits limits;
  for (const auto& [name, text] : options) {
    if (name == missing) limits.missing_share = share_from_text(text, advice_flag(name), true);
    if (name == missing_hubs) limits.hub_missing_share = share_from_text(text, advice_flag(name), true);
  }
  const std::string many = "the rule is for one model, but several are searched; give one --model";
  if (const std::string refusal = space.models.empty() ? rule_refusal(space, points) : many; !refusal.empty()) {
    if (!options.empty()) throw InvalidRequest(advice_flag(options.begin()->first), refusal);
    return nullptr;
  }
  narrate("looking for the batch that saturates one GPU");
  return std::make_shared<GroupPlanAdvice>(advise_groups(space, limits, points, cache));
}

const Register<PlanAdviceTag> registered{{
    "training_groups",
    "DistTGL's rule for i x j x k and the batch",
    "DistTGL (Zhou et al., SC'23), section 3.2.4",
    {},
    {{{missing, "models of events: share of the mails that may never reach the memory (default 0.75)", "X"},
      {missing_hubs, "the same share for the 1 % of vertices with the most mails (default: no limit)", "X"}},
     advise},
    {},
}};

}  // namespace

Json GroupPlanAdvice::to_json(const std::vector<PlanOutcome>& outcomes) const {
  Json json = {
      {missing, limits.missing_share}, {missing_hubs, or_null(limits.hub_missing_share)}, {"places", Json::array()}};
  for (const GroupAdvice& place : places) json["places"].push_back(place_json(place, outcomes));
  return json;
}

std::string GroupPlanAdvice::text(const std::vector<PlanOutcome>& outcomes) const {
  return "\nDistTGL's rule compared with all simulated configurations\n" + places_table(*this, outcomes) +
         steps_text(*this);
}

}  // namespace strobe
