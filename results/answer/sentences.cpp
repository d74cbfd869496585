#include "results/answer/sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/units.hpp"
#include "results/answer/first_in_draws.hpp"

namespace strobe {
namespace {

constexpr std::size_t most_named = 3;  // contenders that a sentence names; it counts the others

using Contenders = std::vector<const Contender*>;

std::string number_text(double value) {
  return value < 10 ? fmt::format("{:.2f}", value) : fmt::format("{:.3g}", value);
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

/// The first names, and the number of the others.
std::vector<std::string> shortened(std::vector<std::string> names) {
  if (names.size() <= most_named + 1) return names;
  const std::size_t more = names.size() - most_named;
  names.resize(most_named);
  names.push_back(fmt::format("{} others", more));
  return names;
}

std::string names_of(const Contenders& contenders) {
  std::vector<std::string> names;
  for (const Contender* one : contenders) names.push_back(one->value);
  return listed(shortened(std::move(names)));
}

Contenders with_verdict(const Answer& answer, Verdict verdict) {
  Contenders found;
  for (const Contender& one : answer.contenders)
    if (one.slower.verdict == verdict) found.push_back(&one);
  return found;
}

std::string per_text(WorkUnit unit) { return "per " + unit_name(unit); }

/// "vertex is 1.30 ± 0.05 times as fast as snapshot per epoch, and 2.10 times as fast as pss".
std::string faster_text(const Answer& answer, const Contenders& slower) {
  std::string text = answer.contenders.front().value + " is";
  const std::size_t named = slower.size() == most_named + 1 ? slower.size() : std::min(slower.size(), most_named);
  for (std::size_t i = 0; i < named; ++i) {
    text += fmt::format("{} {} as fast as {}",
                        i == 0                   ? ""
                        : i + 1 == slower.size() ? " and"
                                                 : ",",
                        times_text(slower[i]->slower), slower[i]->value);
    if (i == 0) text += " " + per_text(answer.unit);
  }
  if (slower.size() > named)
    text += fmt::format(", and at least {} times as fast as {} others", number_text(slower[named]->slower.ratio),
                        slower.size() - named);
  return text;
}

/// "snapshot took the shortest time per cell; vertex took 1.09 and chunk 1.14 times as long. There is no verdict
/// (why)."
std::string without_verdict_text(const Answer& answer, const Contenders& others) {
  const std::size_t named = others.size() == most_named + 1 ? others.size() : std::min(others.size(), most_named);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < named; ++i)
    parts.push_back(
        fmt::format("{} {}{}", others[i]->value, i == 0 ? "took " : "", number_text(others[i]->slower.ratio)));
  if (others.size() > named)
    parts.push_back(
        fmt::format("{} others at least {}", others.size() - named, number_text(others[named]->slower.ratio)));
  return fmt::format("{} took the shortest time {}; {} times as long. There is no verdict ({}).",
                     answer.contenders.front().value, per_text(answer.unit), listed(parts),
                     others.front()->slower.note);
}

std::string with_place(const std::string& place, const std::string& text) {
  return place.empty() ? text : place + ", " + text;
}

/// Adds the sentences on times of epochs, or of units of work.
void tell_times(const Answer& answer, const std::string& place, double threshold, std::vector<std::string>& sentences) {
  const std::string& first = answer.contenders.front().value;
  const Contenders slower = with_verdict(answer, Verdict::slower), same = with_verdict(answer, Verdict::same);
  Contenders unsure, no_interval;
  for (const Contender* one : with_verdict(answer, Verdict::unsure))
    (std::isnan(one->slower.interval.low) && !one->slower.band ? no_interval : unsure).push_back(one);
  if (!slower.empty()) sentences.push_back(with_place(place, faster_text(answer, slower)) + ".");
  const std::string begin = sentences.empty() ? place : "";
  if (!same.empty())
    sentences.push_back(
        with_place(begin, fmt::format("{} {} as fast as {} {} within {:.3g} %.", names_of(same),
                                      same.size() == 1 ? "is" : "are", first, per_text(answer.unit), threshold * 100)));
  if (!unsure.empty())
    sentences.push_back(with_place(sentences.empty() ? place : "",
                                   fmt::format("{} cannot be distinguished from {} {} ({}).", names_of(unsure), first,
                                               per_text(answer.unit), unsure.front()->slower.note)));
  if (!no_interval.empty())
    sentences.push_back(with_place(sentences.empty() ? place : "", without_verdict_text(answer, no_interval)));
}

/// Who reaches the metric first.
void tell_until(const Answer& answer, const std::string& place, std::vector<std::string>& sentences) {
  if (!answer.until_apart.empty())
    return sentences.push_back(
        with_place(place, fmt::format("{} times to {} are not compared: {}.", place.empty() ? "The" : "the",
                                      answer.until, answer.until_apart)));
  const Contender* first = nullptr;
  Contenders later, never;
  for (const Contender& one : answer.contenders) {
    if (!std::isfinite(one.until_seconds)) {
      never.push_back(&one);
    } else if (first == nullptr || one.until_seconds < first->until_seconds) {
      first = &one;
    }
  }
  if (first == nullptr) {
    sentences.push_back(fmt::format("No case reaches {}.", answer.until));
    return;
  }
  std::string text =
      fmt::format("{} reaches {} first, in {}", first->value, answer.until, format_seconds(first->until_seconds));
  for (const Contender& one : answer.contenders) {
    if (&one == first || !std::isfinite(one.until_seconds)) continue;
    const bool scattered = one.later.verdict == Verdict::unsure && one.later.note.empty();
    text += fmt::format("; {} takes {} as long", one.value,
                        scattered ? number_text(one.later.ratio) + " times" : times_text(one.later));
    if (scattered) text += " (its seeds differ too much for a verdict)";
    if (!one.later.note.empty()) text += fmt::format(" ({})", one.later.note);
  }
  sentences.push_back(with_place(place, text) + ".");
  for (const Contender* one : never) {
    sentences.push_back(one->until_reached == 0 ? fmt::format("{} does not reach it.", one->value)
                                                : fmt::format("{} reaches it with {} of {} seeds.", one->value,
                                                              one->until_reached, one->case_ids.size()));
  }
}

/// "vertex is first in 87 of 100 draws of the cluster's uncertain constants, snapshot in 13."
void tell_draws(const Answer& answer, std::size_t draws, double Contender::*first, const std::string& what,
                std::vector<std::string>& sentences) {
  if (draws == 0) return;
  Contenders ever;
  for (const Contender& one : answer.contenders)
    if (one.*first > 0) ever.push_back(&one);
  std::stable_sort(ever.begin(), ever.end(),
                   [first](const Contender* a, const Contender* b) { return a->*first > b->*first; });
  std::vector<std::string> rest;
  for (std::size_t i = 1; i < ever.size(); ++i) rest.push_back(ever[i]->value + " " + draws_text(ever[i]->*first, 0));
  const std::string others = rest.empty() ? "" : ", " + listed(shortened(rest));
  sentences.push_back(fmt::format("{} {} {} of the cluster's uncertain constants{}.", ever.front()->value, what,
                                  draws_text(ever.front()->*first, draws), others));
}

/// "dysat has the best mean mrr on the test samples, 0.412 ± 0.01 over 5 seeds; t-gcn is 0.032 ± 0.012 worse (95 %)."
void tell_metric(const Answer& answer, std::vector<std::string>& sentences) {
  if (answer.metric.empty()) return;
  const auto best = std::find_if(answer.contenders.begin(), answer.contenders.end(),
                                 [](const Contender& one) { return one.metric.best; });
  std::string text =
      fmt::format("{} has the best mean {} on the test samples, {} over {} seeds", best->value, answer.metric,
                  metric_text(best->metric.mean, best->metric.half95), best->metric.values.size());
  for (const Contender& one : answer.contenders) {
    if (&one == &*best || !std::isfinite(one.metric.worse)) continue;
    const MetricLevel& level = one.metric;
    if (level.same) {
      text += fmt::format("; {} has the same", one.value);
      continue;
    }
    text += fmt::format("; {} is {} worse", one.value, metric_text(level.worse, level.worse_half95));
    if (level.worse < level.worse_half95) text += ", which may be chance";
  }
  sentences.push_back(text + " (95 % intervals).");
}

/// The models or tasks of the contenders.
std::string names_apart(const Answer& answer) {
  std::vector<std::string> names;
  for (const Contender& one : answer.contenders) {
    if (one.row == nullptr) continue;
    const std::string name = (answer.apart == "models" ? one.row->model : one.row->task).value("name", "");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return listed(shortened(std::move(names)));
}

/// Whose times are not compared.
void tell_refusals(const Answer& answer, std::vector<std::string>& sentences) {
  const Contender& first = answer.contenders.front();
  if (!answer.apart.empty()) {
    const bool may_race = answer.apart == "models" && answer.until.empty();
    sentences.push_back(
        fmt::format("Epochs of {} are not compared: they are different {}{}.", names_apart(answer), answer.apart,
                    may_race ? "; run them with --until METRIC=VALUE to compare the time to a metric" : ""));
  }
  Contenders unknown;
  for (const Contender& one : answer.contenders) {
    if (!answer.apart.empty() || &one == &first) continue;
    if (!std::isfinite(one.seconds) || std::isfinite(one.unit_seconds)) continue;
    if (!is_known(one.work) || !is_known(first.work))
      unknown.push_back(&one);
    else
      sentences.push_back(fmt::format("The time of {} is not compared: its epoch is {}, one of {} is {}.", one.value,
                                      work_text(one.work), first.value, work_text(first.work)));
  }
  if (!unknown.empty())
    sentences.push_back(fmt::format(
        "Epochs of {} are not compared with those of {}: the amount of work in an epoch of {} is not known.",
        names_of(unknown), first.value, is_known(first.work) ? names_of(unknown) : first.value));
  for (const Contender& one : answer.contenders)
    if (!std::isfinite(one.seconds)) sentences.push_back(fmt::format("{} has no time: {}.", one.value, one.note));
}

}  // namespace

std::string times_text(const TimeRatio& times) {
  if (times.band)
    return fmt::format("{} ({} to {} {}) times", number_text(times.ratio), number_text(times.band->low),
                       number_text(times.band->high), times.draws > 0 ? "in 90 % of draws" : "within the 90 % bands");
  const double half = (times.interval.high - times.interval.low) / 2;
  if (!(half > 0.005)) return number_text(times.ratio) + " times";
  constexpr double wide = 0.2;  // an interval of a logarithm is about symmetric below this share
  if (half < wide * times.ratio) return fmt::format("{} ± {} times", number_text(times.ratio), number_text(half));
  return fmt::format("{} ({} to {}) times", number_text(times.ratio), number_text(times.interval.low),
                     number_text(times.interval.high));
}

std::vector<std::string> sentences_of(const Answer& answer, const std::string& place, double threshold) {
  std::vector<std::string> sentences;
  if (answer.contenders.empty() || !std::isfinite(answer.contenders.front().seconds)) return {"No case has a time."};
  if (std::isfinite(answer.contenders.front().unit_seconds)) tell_times(answer, place, threshold, sentences);
  tell_draws(answer, answer.draws, &Contender::draws_first, "is first", sentences);
  if (!answer.until.empty()) tell_until(answer, sentences.empty() ? place : "", sentences);
  tell_draws(answer, answer.until_draws, &Contender::draws_until_first, "is first at the metric", sentences);
  tell_metric(answer, sentences);
  tell_refusals(answer, sentences);
  return sentences;
}

}  // namespace strobe
