// Hands the rows of points to the answer engine as questions whose candidates are known, since the points of two
// strategies may differ in more than the strategy.
#include "harness/advisor/plan_answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "results/answer/sentences.hpp"

namespace strobe {
namespace {

PlacedRow placed(const PlanOutcome& outcome) {
  static const LoadedRun predictions;  // rows of a plan are in no folder
  return {&predictions, outcome.row.get(), case_json_of(*outcome.row)};
}

std::string quotient_text(double own, double other, const char* what) {
  if (own == other) return fmt::format("the same {}", what);
  const std::string times = fmt::format("{:.3g}", own / other);
  return times == "1" ? fmt::format("about the same {}", what) : fmt::format("{} times the {}", times, what);
}

/// "p4d-a100/1x8/vertex dominates it: 1.30 times as fast, 0.77 times the cost, the same memory".
std::string dominated_text(const PlanOutcome& loser, const PlanOutcome& better) {
  const TimeRatio slower = compare_jobs(better, loser);
  std::vector<std::string> parts{slower.ratio == 1 ? "as fast" : times_text(slower) + " as fast"};
  if (slower.band && slower.verdict == Verdict::unsure) parts.back() += " (" + slower.note + ")";
  if (loser.dollars && better.dollars) parts.push_back(quotient_text(*better.dollars, *loser.dollars, "cost"));
  if (!loser.dollars) parts.emplace_back(better.dollars ? "only this one has a price" : "both without a price");
  parts.push_back(
      quotient_text(static_cast<double>(better.peak_bytes), static_cast<double>(loser.peak_bytes), "memory"));
  return fmt::format("{} dominates it: {}", better.point.id, fmt::join(parts, ", "));
}

bool within_limits(const PlanVerdict& verdict) { return verdict.kept || verdict.cause == "dominated"; }

/// Points at one place, by strategy and model.
struct StrategiesAtPlace {
  const PlanOutcome* first = nullptr;
  std::map<std::pair<std::string, std::string>, const PlanOutcome*> best;
};

/// A text for each place and job.
std::string place_key(const PlanOutcome& outcome) {
  const PlanPoint& point = outcome.point;
  return fmt::format("{} {} {} {}", point.cluster, point.nodes, point.request.ranks,
                     outcome.metric_updates ? "" : point.request.model.dump());
}

PlaceAnswer answer_at(const StrategiesAtPlace& place) {
  const PlanOutcome& first = *place.first;
  const Case& c = first.point.request;
  PlaceAnswer found{first.point.cluster, first.point.nodes, c.ranks, first.metric_updates ? Json() : c.model, {}};
  Question question;
  std::set<std::string> models;
  for (const auto& [names, outcome] : place.best) models.insert(names.second);
  for (const auto& [names, outcome] : place.best)
    question.candidates.push_back(
        {models.size() > 1 ? names.first + " with " + names.second : names.first, {placed(*outcome)}});
  question.common = {c.workload.at("name").get<std::string>()};
  if (models.size() == 1) question.common.push_back(*models.begin());
  question.common.push_back("cluster " + c.cluster);
  question.common.push_back(fmt::format("ranks {}", c.ranks));
  found.answer = answer(question, "strategy");
  return found;
}

}  // namespace

std::optional<ConfidenceInterval> job_band(const PlanOutcome& outcome) {
  if (outcome.status != "ok" || !outcome.epoch_band || !(outcome.epoch_seconds > 0)) return std::nullopt;
  const double start = outcome.start_up_seconds, epochs = (outcome.job_seconds - start) / outcome.epoch_seconds;
  return ConfidenceInterval{start + outcome.epoch_band->low * epochs, start + outcome.epoch_band->high * epochs};
}

TimeRatio compare_jobs(const PlanOutcome& base, const PlanOutcome& changed) {
  return compare_trials(predicted(base.job_seconds, job_band(base)), predicted(changed.job_seconds, job_band(changed)),
                        {});
}

std::optional<bool> equal_within_bands(const PlanOutcome& a, const PlanOutcome& b) {
  if (!job_band(a) || !job_band(b)) return std::nullopt;
  const ConfidenceInterval ratio = *compare_jobs(a, b).band;
  return ratio.low <= 1 && ratio.high >= 1;
}

std::string reason_of(const std::vector<PlanOutcome>& outcomes, const PlanVerdict& verdict) {
  if (verdict.cause != "dominated") return verdict.reason;
  return dominated_text(outcomes[verdict.index], outcomes[verdict.dominated_by]);
}

std::vector<PlaceAnswer> place_answers(const std::vector<PlanOutcome>& outcomes,
                                       const std::vector<PlanVerdict>& verdicts, PlanGoal goal) {
  std::vector<StrategiesAtPlace> places;
  std::map<std::string, std::size_t> index;
  for (const PlanVerdict& verdict : verdicts) {
    const PlanOutcome& own = outcomes[verdict.index];
    if (own.row == nullptr || !within_limits(verdict)) continue;
    const auto [key, is_new] = index.emplace(place_key(own), places.size());
    if (is_new) places.push_back({&own, {}});
    const PlanOutcome*& best =
        places[key->second].best[{own.point.request.strategy.at("name"), own.point.request.model.at("name")}];
    if (best == nullptr || comes_before(own, *best, goal)) best = &own;
  }
  std::vector<PlaceAnswer> answers;
  for (const StrategiesAtPlace& place : places)
    if (place.best.size() > 1) answers.push_back(answer_at(place));
  return answers;
}

std::optional<Answer> front_answer(const std::vector<PlanOutcome>& outcomes, const std::vector<PlanVerdict>& verdicts) {
  Question question;
  for (const PlanVerdict& verdict : verdicts) {
    const PlanOutcome& own = outcomes[verdict.index];
    if (!verdict.kept || own.row == nullptr || !same_job(own, outcomes[verdicts.front().index])) continue;
    question.candidates.push_back({own.point.id, {placed(own)}});
  }
  if (question.candidates.size() < 2) return std::nullopt;
  Answer found = answer(question, "cluster");
  found.field = "point";
  return found;
}

}  // namespace strobe
