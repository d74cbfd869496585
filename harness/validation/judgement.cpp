// Computes errors, agreement and goals from pairs of results.
// Returns cases in the order of the results, groups in the order of their first case.
// Invariants: means are over judged cases only; a goal without any data is not reached.
#include "harness/validation/judgement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/validation/report_cells.hpp"

namespace strobe {
namespace {

constexpr std::size_t parts_kept = 5;

std::string strategy_label(const Case& c) {
  std::vector<std::string> words = {c.strategy.at("name").get<std::string>()};
  for (const auto& [key, value] : c.strategy.items()) {
    if (key != "name") words.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  words.push_back("r" + std::to_string(c.ranks));
  return fmt::format("{}", fmt::join(words, " "));
}

/// "chess/tm-gcn", followed by the other settings that all cases of the group share, unless they are the defaults.
std::string group_label(const Case& c) {
  const std::string id = case_id(c);
  const std::size_t second = id.find('/', id.find('/') + 1);
  std::string label = id.substr(0, second);
  if (c.device != "cpu" || c.comm != "local") label += " " + c.device + "/" + c.comm;
  if (c.precision != "fp32") label += " " + c.precision;
  if (c.nb != "1") label += " nb=" + c.nb;
  if (c.overlap != 1) label += " overlap=" + std::to_string(c.overlap);
  if (c.transfer != "direct") label += " " + c.transfer;
  if (c.threads != 0) label += " threads=" + std::to_string(c.threads);
  return label;
}

/// "t-gcn/small" for another program's run "t-gcn/small/ddp-2", which names its graph; "" for Strobe's own cases.
std::string group_of_program(const Case& c) {
  const std::string program = c.strategy.value("program", "");
  const std::size_t way = program.rfind('/');
  return way == std::string::npos ? "" : program.substr(0, way);
}

double peak_of(const Row& row) {
  if (!row.peak_bytes) return 0;
  std::uint64_t most = 0;
  for (const auto* ranks : {&row.peak_bytes->host, &row.peak_bytes->device}) {
    for (const std::uint64_t bytes : *ranks) most = std::max(most, bytes);
  }
  return static_cast<double>(most);
}

void compare_bytes(CaseJudgement& one) {
  if (!one.measured.sent_bytes || !one.predicted.sent_bytes) return;
  std::vector<std::string> differing;
  for (std::size_t i = 0; i < traffic_count; ++i) {
    const std::uint64_t real = (*one.measured.sent_bytes)[i], simulated = (*one.predicted.sent_bytes)[i];
    if (real != simulated) differing.push_back(fmt::format("{} {} for {}", traffic_names[i], simulated, real));
  }
  one.bytes_equal = differing.empty();
  one.bytes_differ = fmt::format("{}", fmt::join(differing, ", "));
}

void compare_phases(CaseJudgement& one) {
  one.phase_error.fill(std::numeric_limits<double>::quiet_NaN());
  if (!one.measured.phase_seconds || !one.predicted.phase_seconds) return;
  const double epoch = one.measured.epoch_seconds->mean;
  for (std::size_t i = 0; i < phase_count; ++i) {
    one.phase_error[i] = ((*one.predicted.phase_seconds)[i] - (*one.measured.phase_seconds)[i]) / epoch;
  }
}

void compare_peaks(CaseJudgement& one) {
  one.memory_error = std::numeric_limits<double>::quiet_NaN();
  if (!one.measured.peak_bytes || !one.predicted.peak_bytes) return;
  one.memory_error = relative_error(peak_of(one.predicted), peak_of(one.measured));
  one.below_peak = peak_of(one.predicted) < peak_of(one.measured);
}

void compare_band(CaseJudgement& one) {
  if (!one.band) return;
  one.within_band = one.measured_seconds >= one.band->low_seconds && one.measured_seconds <= one.band->high_seconds;
}

CaseJudgement judge_case(const PairResult& result) {
  CaseJudgement one;
  const Case& c = result.pair.measured;
  one.id = result.pair.id;
  one.group = group_of_program(c);
  if (one.group.empty()) one.group = group_label(c);
  // Another program is known by the strategy that predicts it.
  one.strategy = strategy_label(c.strategy.at("name") == "external" ? result.pair.simulated : c);
  one.measured = measured_row(result);
  const Case& simulated = result.pair.simulated;
  one.predicted =
      result.pledged ? *result.pledged : summarise(case_to_json(simulated), case_id(simulated), result.simulated);
  one.false_fit = one.measured.status == "out_of_memory" && one.predicted.status == "ok";
  one.judged = one.measured.status == "ok" && one.predicted.status == "ok";
  if (!one.judged) return one;
  one.predicted_seconds = one.predicted.epoch_seconds->median;
  one.measured_seconds = one.measured.epoch_seconds->median;
  one.baseline_seconds = result.baseline_seconds;
  one.error = relative_error(one.predicted_seconds, one.measured_seconds);
  one.baseline_error = relative_error(one.baseline_seconds, one.measured_seconds);
  one.band = result.band;
  // Rows from a file have no spans to compare with the simulation's.
  if (!result.earlier) one.parts = largest_differences(result.simulated_parts, result.measured_parts, parts_kept);
  compare_bytes(one);
  compare_phases(one);
  compare_peaks(one);
  compare_band(one);
  return one;
}

/// The judged cases of a group.
using Members = std::vector<const CaseJudgement*>;

const CaseJudgement& fastest(const Members& members, double CaseJudgement::*seconds) {
  return **std::min_element(members.begin(), members.end(),
                            [seconds](const auto* a, const auto* b) { return a->*seconds < b->*seconds; });
}

std::vector<double> values_of(const Members& members, double CaseJudgement::*member) {
  std::vector<double> values;
  for (const CaseJudgement* one : members) values.push_back(one->*member);
  return values;
}

bool within_interval(const CaseJudgement& pick, const CaseJudgement& best) {
  constexpr double costly = 1.05;                              // a slower pick is wrong, however wide the interval
  const double high = best.measured.epoch_seconds->ci95_high;  // NaN with few epochs
  return std::isfinite(high) && pick.measured_seconds <= std::min(high, costly * best.measured_seconds);
}

GroupJudgement judge_group(const std::string& name, const Members& members) {
  GroupJudgement group;
  group.group = name;
  group.strategies = members.size();
  const std::vector<double> measured = values_of(members, &CaseJudgement::measured_seconds);
  group.tau = kendall_tau_b(values_of(members, &CaseJudgement::predicted_seconds), measured);
  group.baseline_tau = kendall_tau_b(values_of(members, &CaseJudgement::baseline_seconds), measured);
  const CaseJudgement& best = fastest(members, &CaseJudgement::measured_seconds);
  const CaseJudgement& picked = fastest(members, &CaseJudgement::predicted_seconds);
  const CaseJudgement& plain = fastest(members, &CaseJudgement::baseline_seconds);
  group.best = best.strategy;
  group.picked = picked.strategy;
  group.loss = relative_error(picked.measured_seconds, best.measured_seconds);
  group.by_interval = &picked != &best && within_interval(picked, best);
  group.right = &picked == &best || group.by_interval;
  if (!std::isfinite(plain.baseline_seconds)) return group;  // a pledge has no baseline
  group.baseline_picked = plain.strategy;
  group.baseline_loss = relative_error(plain.measured_seconds, best.measured_seconds);
  group.baseline_right = &plain == &best || within_interval(plain, best);
  return group;
}

void judge_groups(Judgement& all) {
  std::vector<std::string> names;
  for (const CaseJudgement& one : all.cases) {
    if (std::find(names.begin(), names.end(), one.group) == names.end()) names.push_back(one.group);
  }
  for (const std::string& name : names) {
    Members members;
    for (const CaseJudgement& one : all.cases) {
      if (one.judged && one.group == name) members.push_back(&one);
    }
    if (members.size() < 2) continue;
    const GroupJudgement group = judge_group(name, members);
    all.picks.right += group.right, ++all.picks.of;
    if (!group.baseline_picked.empty()) all.baseline_picks.right += group.baseline_right, ++all.baseline_picks.of;
    all.groups.push_back(group);
  }
}

void summarise_cases(Judgement& all) {
  Members judged;
  for (const CaseJudgement& one : all.cases) {
    all.false_fits += one.false_fit;
    if (!one.judged) {
      const bool agree = one.measured.status == one.predicted.status && one.measured.status == "out_of_memory";
      all.failed += !agree && one.measured.status != "skipped";
      continue;
    }
    judged.push_back(&one);
    all.bytes_compared += one.bytes_equal.has_value();
    all.bytes_wrong += one.bytes_equal == false;
    all.below_peak += one.below_peak;
    if (one.within_band) all.covered.right += *one.within_band, ++all.covered.of;
  }
  all.judged = judged.size();
  all.epoch = summarise_errors(values_of(judged, &CaseJudgement::error));
  std::vector<double> plain = values_of(judged, &CaseJudgement::baseline_error);
  std::erase_if(plain, [](double error) { return std::isnan(error); });
  all.baseline = summarise_errors(plain);
  std::vector<double> peaks;
  PerPhase<std::vector<double>> phases;
  for (const CaseJudgement* one : judged) {
    if (one->measured.peak_bytes) peaks.push_back(one->memory_error);
    if (!one->measured.phase_seconds) continue;
    for (std::size_t i = 0; i < phase_count; ++i) phases[i].push_back(one->phase_error[i]);
  }
  all.memory = summarise_errors(peaks);
  for (std::size_t i = 0; i < phase_count; ++i) all.phases[i] = summarise_errors(phases[i]);
  const std::vector<double> measured = values_of(judged, &CaseJudgement::measured_seconds);
  all.tau = kendall_tau_b(values_of(judged, &CaseJudgement::predicted_seconds), measured);
  all.baseline_tau = kendall_tau_b(values_of(judged, &CaseJudgement::baseline_seconds), measured);
}

void state_goals(Judgement& all) {
  const bool any = all.judged > 0;
  all.goals.push_back({"bytes by traffic equal in every case (0 %)",
                       all.bytes_compared == 0 && any
                           ? std::string("the measurements state no bytes")
                           : fmt::format("{} of {} cases differ", all.bytes_wrong, all.bytes_compared),
                       all.bytes_compared > 0 && all.bytes_wrong == 0});
  all.goals.push_back({"epoch within 10 % on average, on a quiet machine", percent(all.epoch.mean_absolute),
                       any && all.epoch.mean_absolute <= 0.10});
  all.goals.push_back(
      {"epoch within 20 % at most", percent(all.epoch.max_absolute), any && all.epoch.max_absolute <= 0.20});
  all.goals.push_back(
      {"top strategy right in 9 of 10 groups", share_text(all.picks), all.picks.of > 0 && all.picks.fraction() >= 0.9});
  all.goals.push_back({"90 % band covers 9 of 10 cases",
                       all.covered.of == 0 ? std::string("no case has a band") : share_text(all.covered),
                       all.covered.of > 0 && all.covered.fraction() >= 0.9});
  all.goals.push_back(
      {"no false fit in memory", fmt::format("{} of {} cases", all.false_fits, all.cases.size()), all.false_fits == 0});
}

}  // namespace

Judgement judge_pairs(const std::vector<PairResult>& results) {
  Judgement all;
  for (const PairResult& result : results) all.cases.push_back(judge_case(result));
  judge_groups(all);
  summarise_cases(all);
  state_goals(all);
  return all;
}

}  // namespace strobe
