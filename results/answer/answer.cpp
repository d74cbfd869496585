// Method: Hoefler and Belli SC'15 (intervals of ratios of medians, never a bare difference). The unit of repetition is
// the process, since its epochs share one speed of the machine; docs/explanation/verdicts.md shows why. Cost: one
// bootstrap for each contender.
#include "results/answer/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/errors.hpp"
#include "results/answer/case_difference.hpp"
#include "results/answer/first_in_draws.hpp"
#include "results/answer/question.hpp"
#include "results/answer/reasons.hpp"
#include "results/answer/sentences.hpp"

namespace strobe {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A contender with what its numbers are computed from.
struct Entrant {
  Contender contender;
  Trials trials;  // seconds of epochs, later of units of work
  Trials until;   // seconds to the metric
  std::map<std::int64_t, EpochWork> works;
  std::vector<const Row*> rows;  // those with a time
};

bool has_time(const Row& row) { return row.status == "ok" && row.epoch_seconds.has_value(); }

void append_note(std::string& note, const std::string& more) {
  if (!more.empty() && note.find(more) == std::string::npos) note += (note.empty() ? "" : "; ") + more;
}

void take_row(const PlacedRow& one, bool several, Entrant& entrant) {
  Contender& contender = entrant.contender;
  const Row& row = *one.row;
  contender.case_ids.push_back(row.case_id);
  const std::string& folder = one.run->folder;
  if (!folder.empty() && std::find(contender.runs.begin(), contender.runs.end(), folder) == contender.runs.end())
    contender.runs.push_back(folder);
  if (row.until && row.until->reached && std::isfinite(row.until->seconds)) {
    ++contender.until_reached;
    Trial& until = entrant.until[row.seed] = {{{0, {row.until->seconds}}}, "", true};
    if (row.time_draws && row.time_draws->until_seconds)
      until.draws = *row.time_draws->until_seconds, until.draws_of = row.time_draws->of;
  }
  if (!has_time(row)) {
    const std::string status = row.reason.empty() ? row.status : row.status + ": " + row.reason;
    append_note(contender.note, several ? fmt::format("seed {}: {}", row.seed, status) : status);
    return;
  }
  if (contender.row == nullptr) contender.row = &row;
  entrant.trials[row.seed] = trial_of(*one.run, row);
  entrant.works[row.seed] = work_of(row);
  entrant.rows.push_back(&row);
  contender.simulated = row.time_source == "virtual";
}

/// "tuned: model.hidden=64, optimizer.rate=0.01"; "" for a row without tuned settings.
std::string tuned_text(const Row& row) {
  std::string text;
  const Json tuned = tuned_settings(row);
  for (const auto& [path, value] : tuned.items())
    text += fmt::format("{}{}={}", text.empty() ? "tuned: " : ", ", path,
                        value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

Entrant entrant_of(const Candidate& candidate) {
  Entrant entrant;
  entrant.contender.value = candidate.label;
  for (const PlacedRow& one : candidate.rows) take_row(one, candidate.rows.size() > 1, entrant);
  if (entrant.contender.row != nullptr) append_note(entrant.contender.note, tuned_text(*entrant.contender.row));
  entrant.contender.facts = pooled_facts(entrant.rows);
  return entrant;
}

EpochWork mean_work(const Entrant& entrant) {
  EpochWork sum;
  const auto n = static_cast<double>(entrant.trials.size());
  for (const auto& [seed, trial] : entrant.trials) {
    const EpochWork& work = entrant.works.at(seed);
    sum.cells += work.cells / n, sum.edges += work.edges / n;
    sum.events += work.events / n, sum.updates += work.updates / n;
  }
  return sum;
}

/// The unit that all have, else the one that most of them have.
WorkUnit unit_of(const std::vector<Entrant*>& timed) {
  std::vector<EpochWork> works;
  for (const Entrant* one : timed) works.push_back(one->contender.work);
  if (const WorkUnit unit = common_unit(works); unit != WorkUnit::none || works.size() < 2) return unit;
  WorkUnit best = WorkUnit::none;
  std::ptrdiff_t most = 1;
  for (const WorkUnit unit : {WorkUnit::event, WorkUnit::cell, WorkUnit::edge}) {
    const auto count =
        std::count_if(works.begin(), works.end(), [&](const EpochWork& work) { return units_in(work, unit) > 0; });
    if (count > most) best = unit, most = count;
  }
  return best;
}

/// "models" or "tasks", if the timed contenders are of several: an epoch of one is no epoch of another.
std::string what_is_apart(const std::vector<Entrant*>& timed) {
  for (const auto& [name, slot] : {std::pair{"models", &Row::model}, {"tasks", &Row::task}}) {
    for (const Entrant* one : timed)
      if ((one->contender.row->*slot).value("name", "") != (timed.front()->contender.row->*slot).value("name", ""))
        return name;
  }
  return "";
}

void measure_per_unit(WorkUnit unit, Entrant& entrant) {
  Contender& contender = entrant.contender;
  contender.seconds = level_of(entrant.trials);
  for (auto& [seed, trial] : entrant.trials) {
    contender.seeds.push_back(seed);
    if (!trial.exact) contender.rounds += static_cast<int>(trial.rounds.size());
    const double units = units_in(entrant.works.at(seed), unit);
    for (auto& [round, seconds] : trial.rounds)
      for (double& value : seconds) value /= units;
    if (trial.band) trial.band = {trial.band->low / units, trial.band->high / units};
    for (double& value : trial.draws) value /= units;
  }
  if (units_in(contender.work, unit) > 0) contender.unit_seconds = level_of(entrant.trials);
}

void refuse_mixed_machines(const Question& question, const AnswerOptions& options) {
  const LoadedRun* first = nullptr;
  for (const Candidate& candidate : question.candidates) {
    for (const PlacedRow& one : candidate.rows) {
      if (one.row->time_source != "wall") continue;
      if (first == nullptr) first = one.run;
      if (one.run != first && !options.allow_different_host) refuse_different_hosts(*first, *one.run);
    }
  }
}

/// The entrant's row under this seed; null when it has none.
const Row* row_of_seed(const Entrant& entrant, std::int64_t seed) {
  const auto found =
      std::find_if(entrant.rows.begin(), entrant.rows.end(), [&](const Row* row) { return row->seed == seed; });
  return found == entrant.rows.end() ? nullptr : *found;
}

/// Why the two do not take the metric over the same samples; "" when they do, as far as the rows say.
std::string other_samples(const Row& a, const Row& b, const std::string& until) {
  const std::vector<FieldDifference> differences = differences_of({{"task", a.task}}, {{"task", b.task}});
  if (!differences.empty()) {
    const FieldDifference& one = differences.front();
    if (one.field == "task") return fmt::format("{} and {} draw different samples for the metric", one.a, one.b);
    return fmt::format("the metric's samples differ: {} is {} in one case and {} in the other", one.field, one.a,
                       one.b);
  }
  const auto of_value = a.facts.find("until_value"), other = b.facts.find("until_value");
  if (of_value != a.facts.end() && other != b.facts.end() && of_value->second != other->second)
    return fmt::format("until={} is {:.6g} in one case and {:.6g} in the other", until, of_value->second.get<double>(),
                       other->second.get<double>());
  const std::string metric = until.substr(0, until.find('='));
  for (const std::string& name : {metric, "validation_" + metric}) {
    const auto of_a = a.metric_samples.find(name), of_b = b.metric_samples.find(name);
    if (of_a == a.metric_samples.end() || of_b == b.metric_samples.end() || of_a->second == of_b->second) continue;
    return fmt::format("the metric is taken over {} samples in one case and over {} in the other", of_a->second,
                       of_b->second);
  }
  return "";
}

/// Why times to the metric do not compare; "" when they do.
std::string why_no_until(const std::vector<Entrant>& entrants, const std::string& until) {
  const Entrant* first = nullptr;
  for (const Entrant& one : entrants) {
    if (one.rows.empty()) continue;
    if (first == nullptr) first = &one;
    for (const Row* of_first : first->rows) {
      const Row* row = row_of_seed(one, of_first->seed);
      const std::string why = row == nullptr ? "" : other_samples(*of_first, *row, until);
      if (!why.empty()) return why;
    }
  }
  return "";
}

/// Times to the metric, relative to the contender that reaches it first under every seed if `compares`.
void compare_until(std::vector<Entrant>& entrants, bool compares, const AnswerOptions& options) {
  std::vector<Trials*> all;
  for (Entrant& one : entrants)
    if (one.contender.until_reached > 0) all.push_back(&one.until);
  keep_common(all);
  const Entrant* first = nullptr;
  for (Entrant& one : entrants) {
    if (one.contender.until_reached < static_cast<int>(one.contender.case_ids.size())) continue;
    one.contender.until_seconds = level_of(one.until);
    if (first == nullptr || one.contender.until_seconds < first->contender.until_seconds) first = &one;
  }
  if (first == nullptr || !compares) return;
  for (Entrant& one : entrants)
    if (&one != first && std::isfinite(one.contender.until_seconds))
      one.contender.later = compare_trials(first->until, one.until, options, SeedSpread::always);
}

/// Compares the metric of the test samples over seeds. Returns its name; "" when there is nothing to compare.
std::string compare_metric(std::vector<Entrant>& entrants, const std::string& until) {
  std::vector<const Row*> rows;
  for (const Entrant& one : entrants) rows.insert(rows.end(), one.rows.begin(), one.rows.end());
  const std::string metric = metric_to_compare(rows, until);
  if (metric.empty()) return "";
  std::vector<MetricLevel*> levels;
  for (Entrant& one : entrants) {
    one.contender.metric = metric_level(one.rows, metric);
    levels.push_back(&one.contender.metric);
  }
  return place_by_metric(metric, levels) ? metric : "";
}

/// Sorts by time per unit, then by time to the metric if `until_compares`, and compares each with the first.
void compare_times(std::vector<Entrant>& entrants, bool until_compares, const AnswerOptions& options) {
  const auto key = [&](const Entrant& one) {
    const auto or_last = [](double seconds) { return std::isfinite(seconds) ? seconds : INFINITY; };
    const Contender& contender = one.contender;
    return std::tuple{or_last(contender.unit_seconds), until_compares ? or_last(contender.until_seconds) : 0.0,
                      one.trials.empty()};
  };
  std::stable_sort(entrants.begin(), entrants.end(),
                   [&](const Entrant& a, const Entrant& b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < entrants.size(); ++i) {
    Entrant& one = entrants[i];
    if (!std::isfinite(one.contender.unit_seconds)) continue;
    one.contender.slower = compare_trials(entrants.front().trials, one.trials, options, SeedSpread::as_found);
    if (one.contender.simulated != entrants.front().contender.simulated)
      append_note(one.contender.note, "one time is measured, the other predicted");
  }
}

/// Counts in how many common draws each contender with a number `known` has the least of it. Returns how many draws
/// there are: 0 unless all of them, two at least, were predicted in the same ones.
std::size_t count_first(std::vector<Entrant>& entrants, Trials Entrant::*of, double Contender::*known,
                        double Contender::*count) {
  std::vector<const Trials*> all;
  std::vector<Entrant*> counted;
  for (Entrant& one : entrants)
    if (std::isfinite(one.contender.*known)) all.push_back(&(one.*of)), counted.push_back(&one);
  if (all.size() < 2 || !share_draws(all)) return 0;
  std::vector<std::vector<double>> levels;
  std::vector<const std::vector<double>*> lists;
  for (const Trials* trials : all) levels.push_back(drawn_levels(*trials));
  for (const std::vector<double>& level : levels) lists.push_back(&level);
  const std::vector<double> first = times_first(lists);
  for (std::size_t i = 0; i < first.size(); ++i) counted[i]->contender.*count = first[i];
  return levels.front().size();
}

/// "vertex", "ranks 2", "batch 100".
std::string named_value(const std::string& field, const std::string& value) {
  for (const char* slot : {"workload", "model", "strategy", "task", "optimizer"})
    if (field == slot) return value;
  return field.substr(field.rfind('.') + 1) + " " + value;
}

/// One case for each configuration of each question but the lone one: those that differ in their seed count once.
std::vector<CaseOfRow> other_cases(const std::vector<Question>& questions, const Question& lone) {
  std::vector<CaseOfRow> cases;
  for (const Question& question : questions) {
    if (&question == &lone) continue;
    for (const Candidate& one : question.candidates) cases.push_back({one.rows.front().row, one.rows.front().json});
  }
  return cases;
}

}  // namespace

Answer answer(const Question& question, const std::string& field, const AnswerOptions& options) {
  refuse_mixed_machines(question, options);
  Answer answer;
  answer.field = field;
  answer.common = question.common;
  std::vector<Entrant> entrants;
  for (const Candidate& candidate : question.candidates) entrants.push_back(entrant_of(candidate));
  std::vector<Entrant*> timed;
  std::vector<Trials*> trials;
  for (Entrant& one : entrants) {
    if (!one.trials.empty()) timed.push_back(&one), trials.push_back(&one.trials);
  }
  keep_common(trials);
  for (Entrant* one : timed) one->contender.work = mean_work(*one);
  answer.apart = what_is_apart(timed);
  answer.unit = timed.empty() || !answer.apart.empty() ? WorkUnit::none : unit_of(timed);
  for (Entrant* one : timed) measure_per_unit(answer.unit, *one);
  answer.until = question.candidates.front().rows.front().json.value("until", std::string());
  if (!answer.until.empty()) answer.until_apart = why_no_until(entrants, answer.until);
  compare_until(entrants, answer.until_apart.empty(), options);
  compare_times(entrants, answer.until_apart.empty(), options);
  answer.metric = compare_metric(entrants, answer.until);
  answer.draws = count_first(entrants, &Entrant::trials, &Contender::unit_seconds, &Contender::draws_first);
  if (answer.until_apart.empty())
    answer.until_draws =
        count_first(entrants, &Entrant::until, &Contender::until_seconds, &Contender::draws_until_first);
  for (Entrant& one : entrants) answer.contenders.push_back(std::move(one.contender));
  answer.sentences = sentences_of(answer, place_of(question, field), options.threshold);
  answer.why = reasons_of(answer);
  std::vector<std::pair<std::string, const KindFacts*>> named;
  for (const Contender& one : answer.contenders) named.emplace_back(named_value(field, one.value), &one.facts);
  answer.facts = differing_facts(named);
  return answer;
}

Answers answer(const std::vector<LoadedRun>& runs, const std::string& field, const AnswerOptions& options) {
  Answers answers;
  answers.field = field;
  const std::vector<Question> questions = questions_of(runs, field);
  for (const Question& question : questions) {
    if (question.candidates.size() > 1) {
      answers.questions.push_back(answer(question, field, options));
      continue;
    }
    const Row& row = *question.candidates.front().rows.front().row;
    answers.alone.push_back({row.case_id, nearest_text(row, other_cases(questions, question))});
  }
  if (!answers.questions.empty()) return answers;
  std::string why;
  if (!answers.alone.empty() && !answers.alone.front().nearest.empty())
    why = fmt::format("; of {}: {}", answers.alone.front().case_id, answers.alone.front().nearest);
  throw NotComparable(fmt::format("no two cases differ in {} alone{}", field, why));
}

std::string natural_field(const std::vector<Row>& rows) {
  std::vector<std::string> differing;
  for (const Row& row : rows) {
    for (const FieldDifference& difference : differences_of(untuned_case_of(rows.front()), untuned_case_of(row))) {
      if (difference.field == "seed" || difference.a == "-" || difference.b == "-") continue;
      if (difference.field == "strategy") return "strategy";
      if (std::find(differing.begin(), differing.end(), difference.field) == differing.end())
        differing.push_back(difference.field);
    }
  }
  return differing.size() == 1 ? differing.front() : "";
}

}  // namespace strobe
